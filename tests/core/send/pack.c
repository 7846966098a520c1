// Packs: frames that are written where they wait leave as parcels of the same frames would.
#include <stdio.h>

#include "core/send/outbox.h"
#include "core/send/pack.h"
#include "tests/core/send/parcels.h"

enum { FRAME_BYTES_MAX = 4096 };

// A frame of a body with the id 7 at `id_at` bytes, in all `bytes` long.
static struct span write_body(char *out, size_t id_at, size_t bytes) {
    memset(out, 'x', bytes);
    out[id_at] = '7';
    return (struct span){(uint32_t)id_at, 1};
}

static struct span set_up_frame(struct fixture *fixture, const char *fields, size_t id_at, size_t bytes) {
    static char body[FRAME_BYTES_MAX], text[2 * FRAME_BYTES_MAX];
    struct span id = write_body(body, id_at, bytes);
    snprintf(text, sizeof text, "%sContent-Length: %zu\r\n\r\n%.*s", fields, bytes, (int)bytes, body);
    set_up(fixture, text);
    return id;
}

static const struct wire_line user_line = {.text = "Patchbay-User: a\r\n\r\n", .bytes = 18};

static void only_small_bare_frames_are_taken(void **state) {
    (void)state;
    struct fixture fixture;
    set_up_frame(&fixture, "", 3, 10);
    assert_true(pack_takes(&fixture.frame));
    fixture.frame.added = &user_line; // of the hub, not of the source
    assert_true(pack_takes(&fixture.frame));
    tear_down(&fixture);
    set_up_frame(&fixture, "Request-Id: 1\r\n", 3, 10);
    assert_false(pack_takes(&fixture.frame));
    tear_down(&fixture);
    set_up_frame(&fixture, "", 3, COPY_BYTES_MAX);
    assert_true(pack_takes(&fixture.frame));
    tear_down(&fixture);
    set_up_frame(&fixture, "", 3, COPY_BYTES_MAX + 1);
    assert_false(pack_takes(&fixture.frame));
    tear_down(&fixture);
    set_up(&fixture, "Content-Length: 2\r\nA: b\r\n\r\n{}");
    assert_false(pack_takes(&fixture.frame));
    tear_down(&fixture);
}

// Compares the frames of a pack with parcels, for each length before, of and behind the id.
static void compare_with_parcels(const struct wire_line *added) {
    static const size_t lengths[] = {1, 2, 3, 9, 10, 17, 63, 64, 65, 99, 100, 130, 999, 1000, COPY_BYTES_MAX};
    static const char *const texts[] = {"1", "12", "4503599627370498",
                                        "\"a-name-of-the-source-s-own-that-is-longer\""};
    for (size_t which = 0; which < sizeof lengths / sizeof *lengths; which++)
        for (size_t at = 0; at < lengths[which]; at += 1 + at / 2)
            for (size_t text = 0; text < sizeof texts / sizeof *texts; text++) {
                struct fixture fixture;
                struct span id = set_up_frame(&fixture, "", at, lengths[which]);
                struct piece piece = {texts[text], strlen(texts[text])};
                fixture.frame.added = added;
                struct parcel *parcel = parcel_create_with_holes(&fixture.parcels, &fixture.frame, &id, 1),
                              *pack = pack_create(&fixture.parcels, &fixture.buffers);
                assert_true(parcel_fill(parcel, &piece));
                parcel_encode(parcel, &wire_framed);
                for (unsigned count = 1; count <= 3; count++) { // one behind the other
                    char one[FRAME_BYTES_MAX], all[4 * FRAME_BYTES_MAX];
                    assert_true(pack_add(pack, &fixture.frame, id, piece, count, NULL));
                    assert_int_equal(pack->bytes, count * parcel->bytes);
                    assert_int_equal(pack->frames, count);
                    parcel_copy(parcel, (uint8_t *)one);
                    parcel_copy(pack, (uint8_t *)all);
                    assert_memory_equal(all + (count - 1) * parcel->bytes, one, parcel->bytes);
                }
                parcel_drop(parcel);
                parcel_drop(pack);
                tear_down(&fixture);
            }
}

static void a_frame_leaves_as_a_parcel_of_it_would(void **state) {
    (void)state;
    compare_with_parcels(NULL);
    compare_with_parcels(&user_line);
}

static void a_pack_takes_frames_until_it_is_full(void **state) {
    (void)state;
    struct fixture fixture;
    struct span id = set_up_frame(&fixture, "", 5, 100);
    struct parcel *pack = pack_create(&fixture.parcels, &fixture.buffers);
    uint32_t count = 0;
    while (pack_add(pack, &fixture.frame, id, (struct piece){"12345678", 8}, count + 1, NULL))
        count++;
    enum { EACH = 23 + 107 + 16 }; // head, body, and its line in the list
    assert_in_range(count, RECEIVE_BUFFER_BYTES / EACH - 2, RECEIVE_BUFFER_BYTES / EACH);
    for (uint32_t hub_id = 1; hub_id <= count; hub_id++)
        assert_true(pack_has(pack, hub_id));
    assert_false(pack_has(pack, count + 1));
    parcel_drop(pack);
    tear_down(&fixture);
}

// Fills packs until no more fits, with each remainder of room. Nothing is written over the list of requests at the
// buffer's end, though more of a frame is copied at first than stays in the pack.
static void fill_whole(const struct wire_line *added) {
    enum { ID_BYTES = 62, PADS = 400 };
    static char id[PADS + 1];
    struct fixture fixture;
    set_up_frame(&fixture, "", 1, 1 + ID_BYTES + 1);
    struct span all = {1, ID_BYTES}, none = {1, 1};
    memset(id, 'i', sizeof id);
    fixture.frame.added = added;
    for (size_t pad = 1; pad <= PADS; pad++) {
        struct parcel *pack = pack_create(&fixture.parcels, &fixture.buffers);
        struct buffer *buffer = pack->buffer;
        uint32_t count = 0;
        while (buffer->capacity - pack->bytes - count * 16 > 1500) // frames that differ in length
            assert_true(pack_add(pack, &fixture.frame, none, (struct piece){id, pad}, ++count, NULL));
        while (pack_add(pack, &fixture.frame, all, (struct piece){"7", 1}, count + 1, NULL))
            count++;
        for (uint32_t hub_id = 1; hub_id <= count; hub_id++)
            assert_true(pack_has(pack, hub_id));
        parcel_drop(pack);
    }
    tear_down(&fixture);
}

static void a_full_pack_keeps_its_list(void **state) {
    (void)state;
    static struct wire_line line = {.bytes = WIRE_LINE_BYTES_MAX - 2};
    memset(line.text, 'a', sizeof line.text);
    memcpy(line.text + line.bytes - 2, "\r\n\r\n", 4);
    fill_whole(NULL);
    fill_whole(&line);
}

// The head stands in place of the length line, however long it is.
static void an_envelope_stands_around_a_frame(void **state) {
    (void)state;
    static char head[3000];
    struct fixture fixture;
    struct span id = set_up_frame(&fixture, "", 5, 100);
    memset(head, 'h', sizeof head);
    for (size_t bytes = 1; bytes <= sizeof head; bytes += 1 + bytes / 3) {
        struct pack_envelope envelope = {.head = {head, bytes}, .tail = {"\r\n", 2}};
        struct parcel *pack = pack_create(&fixture.parcels, &fixture.buffers);
        size_t each = bytes + 107 + 2;
        uint32_t count = 0;
        while (pack_add(pack, &fixture.frame, id, (struct piece){"12345678", 8}, count + 1, &envelope)) {
            const char *at = (const char *)pack->pieces[0].bytes + count++ * each;
            assert_int_equal(pack->bytes, count * each);
            assert_memory_equal(at, head, bytes);
            assert_memory_equal(at + bytes, "xxxxx12345678x", 14);
            assert_memory_equal(at + bytes + 107, "\r\n", 2);
        }
        assert_in_range(count, RECEIVE_BUFFER_BYTES / (each + 16) - 2, RECEIVE_BUFFER_BYTES / (each + 16));
        assert_int_equal(pack_remove(pack, 1), each);
        parcel_drop(pack);
    }
    tear_down(&fixture);
}

static void without_memory_there_is_no_pack(void **state) {
    (void)state;
    struct fixture fixture;
    set_up_frame(&fixture, "", 5, 100);
    parcel_drop(pack_create(&fixture.parcels, &fixture.buffers)); // both are at rest
    parcel_pool_trim(&fixture.parcels);
    buffer_pool_trim(&fixture.buffers);
    for (uint64_t fails = 0; fails < 2; fails++) {
        memory_fail_after(fails);
        assert_null(pack_create(&fixture.parcels, &fixture.buffers));
        memory_fail_after(UINT64_MAX);
        buffer_pool_trim(&fixture.buffers);
    }
    tear_down(&fixture);
}

// --- In an outbox

enum { IDS = 3000 };

// The outbox beside the order in which requests must leave.
struct model {
    struct fixture fixture;
    struct outbox outbox;
    uint64_t waits[IDS];
    uint32_t count;
    uint64_t next;
};

static uint64_t random_below(uint64_t *seed, uint64_t bound) {
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % bound;
}

static void add(struct model *model, bool as_parcel) {
    char digits[20];
    struct span id = {5, 1};
    struct piece text = {digits, (size_t)snprintf(digits, sizeof digits, "%05u", (unsigned)model->next)};
    bool is_packed = !as_parcel && outbox_may_pack(&model->outbox) &&
                     outbox_pack(&model->outbox, &model->fixture.parcels, &model->fixture.buffers,
                                 &model->fixture.frame, id, text, model->next, NULL);
    if (!is_packed) {
        struct parcel *parcel =
            parcel_create_with_holes(&model->fixture.parcels, &model->fixture.frame, &id, 1);
        assert_true(parcel && parcel_fill(parcel, &text));
        parcel_encode(parcel, &wire_framed);
        parcel->hub_id = model->next;
        outbox_add(&model->outbox, parcel);
    }
    model->waits[model->count++] = model->next++;
    assert_int_equal(model->outbox.count, model->count);
    assert_true(outbox_has(&model->outbox, model->next - 1));
}

static bool take_out(struct model *model, uint64_t hub_id) {
    if (outbox_unpack(&model->outbox, hub_id))
        return true;
    struct parcel *parcel = outbox_remove(&model->outbox, hub_id);
    if (parcel)
        parcel_drop(parcel);
    return parcel != NULL;
}

// A model whose outbox has so many parcels that the next frame may be packed.
static void begin_with_parcels(struct model *model) {
    *model = (struct model){.next = 1};
    set_up_frame(&model->fixture, "", 5, 300);
    outbox_init(&model->outbox);
    while (model->count < OUTBOX_PACKED_FROM)
        add(model, true);
}

static void cancel(struct model *model, uint64_t hub_id) {
    uint32_t at = 0;
    while (at < model->count && model->waits[at] != hub_id)
        at++;
    bool waits = at < model->count;
    assert_int_equal(outbox_has(&model->outbox, hub_id), waits);
    assert_int_equal(take_out(model, hub_id), waits);
    assert_false(outbox_has(&model->outbox, hub_id));
    if (!waits)
        return;
    model->count--;
    memmove(model->waits + at, model->waits + at + 1, (model->count - at) * sizeof *model->waits);
}

// All that waits leaves whole, in its order.
static void send_all(struct model *model, size_t bytes_max) {
    static char out[IDS * 512];
    static const char head[] = "Content-Length: 304\r\n\r\n";
    enum { HEAD = sizeof head - 1, FRAME = HEAD + 304 };
    size_t sent = 0;
    struct stage stage;
    struct parcel_list done;
    stage_init(&stage, &model->fixture.buffers);
    parcel_list_init(&done);
    while (!outbox_empty(&model->outbox)) {
        struct send_op send_op;
        outbox_gather(&model->outbox, &stage, &send_op, bytes_max, &done);
        for (unsigned at = 0; at < send_op.count; at++) {
            memcpy(out + sent, send_op.vectors[at].iov_base, send_op.vectors[at].iov_len);
            sent += send_op.vectors[at].iov_len;
        }
        send_op_clear(&send_op, &done);
        for (struct parcel *parcel; (parcel = parcel_list_take(&done));)
            parcel_drop(parcel);
    }
    stage_deinit(&stage);
    assert_int_equal(sent, (size_t)model->count * FRAME);
    for (uint32_t at = 0; at < model->count; at++) {
        char digits[20];
        snprintf(digits, sizeof digits, "%05u", (unsigned)model->waits[at]);
        assert_memory_equal(out + (size_t)at * FRAME, head, HEAD);
        assert_memory_equal(out + (size_t)at * FRAME + HEAD, "xxxxx", 5);
        assert_memory_equal(out + (size_t)at * FRAME + HEAD + 5, digits, 5);
    }
    model->count = 0;
    assert_true(model->outbox.packs == 0 && model->outbox.bytes == 0);
}

static void requests_come_are_cancelled_and_leave_in_order(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static struct model model;
        uint64_t random = seed;
        model = (struct model){.next = 1};
        set_up_frame(&model.fixture, "", 5, 300);
        outbox_init(&model.outbox);
        uint64_t parcels_of = random_below(&random, 3) ? 30 : 3,
                 cancels_of = random_below(&random, 2) ? 4 : 40;
        while (model.next < IDS) {
            if (random_below(&random, 150) == 0)
                send_all(&model, 1 + random_below(&random, 60000));
            else if (random_below(&random, cancels_of) == 0)
                cancel(&model, 1 + random_below(&random, model.next));
            else
                add(&model, random_below(&random, parcels_of) == 0);
        }
        send_all(&model, SEND_BYTES_MAX);
        tear_down(&model.fixture);
    }
}

// A new pack takes a whole buffer. Frames are still added to a pack that waits already.
static void while_memory_is_tight_no_pack_is_made(void **state) {
    (void)state;
    static struct model model;
    begin_with_parcels(&model);
    struct buffer_budget *budget = &model.fixture.budget;
    uint64_t others = budget->bytes_max / 64 * 53; // of the last three sixteenths, with room for a buffer
    assert_true(buffer_budget_take(budget, others, BUDGET_OWED));
    assert_true(buffer_budget_tight(budget) && buffer_pool_can_take(&model.fixture.buffers));
    add(&model, false);
    assert_int_equal(model.outbox.packs, 0);
    buffer_budget_give(budget, others);
    add(&model, false);
    assert_int_equal(model.outbox.packs, 1);
    assert_true(buffer_budget_take(budget, others, BUDGET_OWED));
    add(&model, false);
    assert_int_equal(model.outbox.packs, 1);
    assert_int_equal(parcel_list_last(&model.outbox.lanes[LANE_NORMAL])->frames, 2);
    buffer_budget_give(budget, others);
    send_all(&model, SEND_BYTES_MAX);
    tear_down(&model.fixture);
}

// A cancel looks through few parcels without an index, so that packing goes on, however many frames the packs have.
static void a_cancel_behind_packed_frames_makes_no_index(void **state) {
    (void)state;
    static struct model model;
    begin_with_parcels(&model);
    while (model.count < 100)
        add(&model, false);
    assert_true(model.outbox.packs > 0);
    cancel(&model, 1);
    assert_true(!model.outbox.index && outbox_may_pack(&model.outbox));
    while (model.count < 170)
        add(&model, true);
    cancel(&model, 2);
    assert_non_null(model.outbox.index); // of parcels alone there are more than are looked through
    while (model.count > 0)
        cancel(&model, model.waits[model.count / 2]);
    assert_true(!model.outbox.index && model.outbox.packs == 0 && model.outbox.bytes == 0);
    tear_down(&model.fixture);
}

// Where parcels wait between packs, each pack has few frames and a whole buffer.
static void at_most_three_packs_wait(void **state) {
    (void)state;
    static struct model model;
    begin_with_parcels(&model);
    uint32_t made = model.fixture.buffers.made;
    for (unsigned round = 1; round <= 2 * OUTBOX_PACKS_MAX; round++) {
        add(&model, true);
        add(&model, false);
        uint32_t packs = round < OUTBOX_PACKS_MAX ? round : OUTBOX_PACKS_MAX;
        assert_int_equal(model.outbox.packs, packs);
        assert_int_equal(model.fixture.buffers.made - made, packs);
    }
    send_all(&model, SEND_BYTES_MAX);
    tear_down(&model.fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_small_bare_frames_are_taken),
        cmocka_unit_test(a_frame_leaves_as_a_parcel_of_it_would),
        cmocka_unit_test(a_pack_takes_frames_until_it_is_full),
        cmocka_unit_test(a_full_pack_keeps_its_list),
        cmocka_unit_test(an_envelope_stands_around_a_frame),
        cmocka_unit_test(without_memory_there_is_no_pack),
        cmocka_unit_test(while_memory_is_tight_no_pack_is_made),
        cmocka_unit_test(a_cancel_behind_packed_frames_makes_no_index),
        cmocka_unit_test(at_most_three_packs_wait),
        cmocka_unit_test(requests_come_are_cancelled_and_leave_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
