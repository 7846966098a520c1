// The outbox: the order of what waits, and how it is put together for one send.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/list.h"
#include "core/base/memory.h"
#include "core/send/envelope.h"
#include "core/send/outbox.h"

enum { PARCELS_MAX = 200, OUT_BYTES = 1 << 21 };

struct fixture {
    struct buffer_budget budget;
    struct buffer_pool buffers;
    struct parcel_pool parcels;
    struct outbox outbox;
    struct stage stage;
    struct send_op send_op;
    struct parcel_list done;
};

static void set_up(struct fixture *fixture) {
    *fixture = (struct fixture){.budget.bytes_max = 1 << 26};
    buffer_pool_init(&fixture->buffers, &fixture->budget);
    parcel_pool_init(&fixture->parcels, &fixture->budget, 0);
    outbox_init(&fixture->outbox);
    stage_init(&fixture->stage, &fixture->buffers);
    parcel_list_init(&fixture->done);
}

static void drop_done(struct fixture *fixture) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&fixture->done));)
        parcel_drop(parcel);
}

static void tear_down(struct fixture *fixture) {
    stage_deinit(&fixture->stage);
    drop_done(fixture);
    assert_true(parcel_pool_full(&fixture->parcels));
    parcel_pool_deinit(&fixture->parcels);
    buffer_pool_deinit(&fixture->buffers);
    assert_int_equal(fixture->budget.bytes, 0);
}

// A parcel of `bytes` bytes that all are `fill`.
static void add(struct fixture *fixture, char fill, size_t bytes, enum parcel_lane lane) {
    char *text = malloc(bytes);
    memset(text, fill, bytes);
    struct parcel *parcel = parcel_from_text(&fixture->parcels, text, bytes);
    parcel->lane = (uint8_t)lane;
    parcel->is_encoded = true;
    outbox_add(&fixture->outbox, parcel);
}

static size_t bytes_of(const struct iovec *vectors, unsigned count) {
    size_t bytes = 0;
    while (count--)
        bytes += vectors[count].iov_len;
    return bytes;
}

// The kernel takes up to `most` bytes of a part.
static size_t take(const struct iovec *vectors, unsigned count, size_t most, char *out) {
    size_t taken = 0;
    for (unsigned at = 0; at < count && taken < most; at++) {
        size_t bytes = vectors[at].iov_len < most - taken ? vectors[at].iov_len : most - taken;
        memcpy(out + taken, vectors[at].iov_base, bytes);
        taken += bytes;
    }
    return taken;
}

// Sends all, `step` bytes at a time out of parts of at most `part`, and writes down what went.
static size_t send_all(struct fixture *fixture, size_t part, size_t step, char *out) {
    size_t sent = 0;
    while (!outbox_empty(&fixture->outbox)) {
        struct send_op *send_op = &fixture->send_op;
        outbox_gather(&fixture->outbox, &fixture->stage, send_op, SEND_BYTES_MAX, &fixture->done);
        assert_in_range(send_op->count, 1, SEND_VECTORS_MAX);
        drop_done(fixture); // what was copied is free to go before it is sent
        for (bool whole = false; !whole;) {
            size_t due = send_op->bytes < part ? send_op->bytes : part;
            unsigned first = send_op->first, count = send_op_part(send_op, part);
            assert_int_equal(bytes_of(send_op->vectors + first, count), due);
            size_t taken = take(send_op->vectors + first, count, step, out + sent);
            sent += taken;
            whole = send_op_advance(send_op, taken);
        }
        assert_int_equal(send_op->first, send_op->count);
        send_op_clear(send_op, &fixture->done);
        drop_done(fixture);
    }
    return sent;
}

static void urgent_goes_first_and_lanes_keep_their_order(void **state) {
    (void)state;
    struct fixture fixture;
    char out[16];
    set_up(&fixture);
    add(&fixture, 'e', 1, LANE_NORMAL);
    add(&fixture, 'c', 1, LANE_HIGH);
    add(&fixture, 'a', 1, LANE_URGENT);
    add(&fixture, 'f', 1, LANE_NORMAL);
    add(&fixture, 'd', 1, LANE_HIGH);
    add(&fixture, 'b', 1, LANE_URGENT);
    assert_int_equal(fixture.outbox.count, 6);
    assert_int_equal(fixture.outbox.bytes, 6);
    struct parcel *first = outbox_take(&fixture.outbox);
    assert_int_equal(first->text[0], 'a');
    parcel_drop(first);
    assert_int_equal(send_all(&fixture, 100, 100, out), 5);
    assert_memory_equal(out, "bcdef", 5);
    assert_int_equal(fixture.outbox.bytes, 0);
    assert_null(outbox_take(&fixture.outbox));
    tear_down(&fixture);
}

// A parcel that comes ahead meanwhile goes before the rest.
static void no_more_is_gathered_than_is_wanted(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    for (unsigned count = 0; count < 5; count++)
        add(&fixture, 'a', count % 2 ? 100 : COPY_BYTES_MAX + 1, LANE_NORMAL);
    outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, COPY_BYTES_MAX + 101, &fixture.done);
    assert_int_equal(fixture.outbox.count, 3); // two had just as much
    assert_int_equal(fixture.send_op.bytes, COPY_BYTES_MAX + 101);
    assert_false(outbox_is_ahead(&fixture.outbox));
    add(&fixture, 'b', 1, LANE_HIGH);
    assert_true(outbox_is_ahead(&fixture.outbox));
    send_op_clear(&fixture.send_op, &fixture.done);
    outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, 1, &fixture.done);
    assert_int_equal(fixture.send_op.bytes, 1);
    assert_int_equal(*(const char *)fixture.send_op.vectors[0].iov_base, 'b');
    send_op_clear(&fixture.send_op, &fixture.done);
    outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, 1, &fixture.done); // one at least
    assert_int_equal(fixture.send_op.bytes, COPY_BYTES_MAX + 1);
    send_op_clear(&fixture.send_op, &fixture.done);
    for (struct parcel *parcel; (parcel = outbox_take(&fixture.outbox));)
        parcel_drop(parcel);
    tear_down(&fixture);
}

static void nothing_overtakes_what_was_sealed(void **state) {
    (void)state;
    struct fixture fixture;
    char out[16];
    set_up(&fixture);
    outbox_seal(&fixture.outbox);
    add(&fixture, 'b', 1, LANE_NORMAL);
    add(&fixture, 'a', 1, LANE_URGENT);
    assert_int_equal(send_all(&fixture, 100, 100, out), 2);
    assert_memory_equal(out, "ab", 2);
    add(&fixture, 'a', 1, LANE_NORMAL);
    add(&fixture, 'b', 1, LANE_NORMAL);
    add(&fixture, 'c', 1, LANE_NORMAL);
    outbox_seal(&fixture.outbox);
    add(&fixture, 'f', 1, LANE_NORMAL);
    add(&fixture, 'e', 1, LANE_HIGH);
    add(&fixture, 'd', 1, LANE_URGENT);
    struct parcel *first = outbox_take(&fixture.outbox);
    assert_int_equal(first->text[0], 'a');
    parcel_drop(first);
    assert_int_equal(send_all(&fixture, 100, 100, out), 5);
    assert_memory_equal(out, "bcdef", 5);
    tear_down(&fixture);
}

static void all_bytes_go_in_order(size_t part) {
    static const size_t sizes[] = {1, 300, COPY_BYTES_MAX, COPY_BYTES_MAX + 1, 5000, 40000, 17, 1024,
                                   2, 9000};
    static char out[OUT_BYTES];
    for (size_t step = 1; step < 100000; step = step * 7 + 2) {
        struct fixture fixture;
        size_t expected = 0, at = 0;
        set_up(&fixture);
        for (size_t index = 0; index < PARCELS_MAX; index++) {
            add(&fixture, (char)('a' + index % 26), sizes[index * 7 % 10], LANE_NORMAL);
            expected += sizes[index * 7 % 10];
        }
        assert_int_equal(fixture.outbox.bytes, expected);
        assert_int_equal(send_all(&fixture, part, step, out), expected);
        for (size_t index = 0; index < PARCELS_MAX; index++)
            for (size_t byte = 0; byte < sizes[index * 7 % 10]; byte++)
                assert_int_equal(out[at++], 'a' + index % 26);
        tear_down(&fixture);
    }
}

static void all_bytes_go_in_order_whatever_the_sizes_parts_and_steps(void **state) {
    (void)state;
    static const size_t parts[] = {1, 100, 5001, 100000, SIZE_MAX};
    for (unsigned index = 0; index < sizeof parts / sizeof *parts; index++)
        all_bytes_go_in_order(parts[index]);
}

static void small_neighbours_become_one_vector_and_large_ones_are_not_copied(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    for (unsigned index = 0; index < 10; index++)
        add(&fixture, 's', 100, LANE_NORMAL);
    add(&fixture, 'l', COPY_BYTES_MAX + 1, LANE_NORMAL);
    const void *large = NULL;
    for (const struct parcel *parcel = fixture.outbox.lanes[LANE_NORMAL].first; parcel; parcel = parcel->next)
        large = parcel->pieces[0].bytes; // the last one's
    outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, SEND_BYTES_MAX, &fixture.done);
    assert_int_equal(fixture.send_op.count, 2);
    assert_int_equal(fixture.send_op.vectors[0].iov_len, 1000);
    assert_ptr_equal(fixture.send_op.vectors[1].iov_base, large);
    assert_non_null(fixture.send_op.carried.first);
    assert_true(send_op_advance(&fixture.send_op, 1000 + COPY_BYTES_MAX + 1));
    send_op_clear(&fixture.send_op, &fixture.done);
    assert_null(fixture.send_op.carried.first);
    tear_down(&fixture);
}

// Two send_ops under way share a stage: the second must not write where the first lies.
static void a_stage_in_use_is_not_overwritten(void **state) {
    (void)state;
    struct fixture fixture;
    struct send_op other;
    set_up(&fixture);
    add(&fixture, 'a', 500, LANE_NORMAL);
    outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, SEND_BYTES_MAX, &fixture.done);
    for (unsigned round = 0; round < 100; round++) {
        add(&fixture, 'b', 500, LANE_NORMAL);
        outbox_gather(&fixture.outbox, &fixture.stage, &other, SEND_BYTES_MAX, &fixture.done);
        for (size_t byte = 0; byte < 500; byte++)
            assert_int_equal(((char *)fixture.send_op.vectors[0].iov_base)[byte], 'a');
        send_op_clear(&other, &fixture.done);
    }
    send_op_clear(&fixture.send_op, &fixture.done);
    tear_down(&fixture);
}

static void without_memory_to_copy_to_it_is_sent_from_where_it_lies(void **state) {
    (void)state;
    struct fixture fixture;
    char out[300];
    set_up(&fixture);
    for (char fill = 'a'; fill < 'd'; fill++)
        add(&fixture, fill, 100, LANE_NORMAL);
    fixture.budget.bytes_max = 1000;
    assert_int_equal(send_all(&fixture, 1000, 1000, out), 300);
    for (size_t byte = 0; byte < 300; byte++)
        assert_int_equal(out[byte], 'a' + byte / 100);
    tear_down(&fixture);
}

// Parcels of an earlier lane go before a frame of several parcels or behind it, never between.
static void a_frame_of_several_parcels_is_not_cut(void **state) {
    (void)state;
    struct fixture fixture;
    char out[OUT_BYTES];
    set_up(&fixture);
    for (unsigned part = 0; part < 100; part++) {
        add(&fixture, (char)(part ? 'b' : 'a'), COPY_BYTES_MAX + 1, LANE_NORMAL);
        struct parcel_list *lane = &fixture.outbox.lanes[LANE_NORMAL];
        struct parcel *last = list_entry(lane->last, struct parcel, next);
        last->unfinished = part < 99;
    }
    outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, SEND_BYTES_MAX, &fixture.done);
    assert_int_equal(fixture.outbox.count, 100 - SEND_VECTORS_MAX);
    assert_true(send_op_advance(&fixture.send_op, fixture.send_op.bytes));
    send_op_clear(&fixture.send_op, &fixture.done);
    add(&fixture, 'u', 1, LANE_URGENT);
    size_t sent = send_all(&fixture, SIZE_MAX, SIZE_MAX, out);
    assert_int_equal(sent, (100 - SEND_VECTORS_MAX) * (COPY_BYTES_MAX + 1) + 1);
    assert_int_equal(out[sent - 1], 'u');
    tear_down(&fixture);
}

// The same of small ones, which are copied side by side: also where a send ends between two of them.
static void a_frame_of_small_parcels_is_not_cut(void **state) {
    enum { PARTS = 10, PART_BYTES = 100 };
    (void)state;
    for (unsigned first = 1; first < PARTS; first++) {
        struct fixture fixture;
        char out[PARTS * PART_BYTES + 1];
        set_up(&fixture);
        for (unsigned part = 0; part < PARTS; part++) {
            add(&fixture, (char)('a' + part), PART_BYTES, LANE_NORMAL);
            list_entry(fixture.outbox.lanes[LANE_NORMAL].last, struct parcel, next)->unfinished =
                part + 1 < PARTS;
        }
        outbox_gather(&fixture.outbox, &fixture.stage, &fixture.send_op, first * PART_BYTES, &fixture.done);
        assert_int_equal(fixture.outbox.count, PARTS - first);
        assert_int_equal(fixture.send_op.count, 1); // as one piece
        assert_true(send_op_advance(&fixture.send_op, fixture.send_op.bytes));
        send_op_clear(&fixture.send_op, &fixture.done);
        add(&fixture, 'u', 1, LANE_URGENT);
        size_t sent = send_all(&fixture, SIZE_MAX, SIZE_MAX, out);
        assert_int_equal(sent, (PARTS - first) * PART_BYTES + 1);
        assert_int_equal(out[0], 'a' + first);
        assert_int_equal(out[sent - 1], 'u');
        tear_down(&fixture);
    }
}

static void a_row_lies_behind_what_waits_and_before_what_comes(void **state) {
    (void)state;
    struct fixture fixture;
    struct parcel_list row;
    set_up(&fixture);
    for (unsigned round = 0; round < 2; round++) { // into an empty lane, and behind others
        parcel_list_init(&row);
        assert_null(parcel_list_last(&row));
        for (unsigned at = 0; at < 3; at++) {
            char *text = malloc(1);
            *text = (char)('a' + 4 * round + at);
            struct parcel *parcel = parcel_from_text(&fixture.parcels, text, 1);
            parcel->is_encoded = true;
            parcel_list_append(&row, parcel);
            assert_ptr_equal(parcel_list_last(&row), parcel);
        }
        outbox_add_several(&fixture.outbox, &row, 3, 3);
        assert_null(parcel_list_take(&row));
        add(&fixture, (char)('d' + 4 * round), 1, LANE_NORMAL);
        assert_int_equal(fixture.outbox.count, 4 * (round + 1));
        assert_int_equal(fixture.outbox.bytes, 4 * (round + 1));
    }
    for (char expected = 'a'; expected <= 'h'; expected++) {
        struct parcel *parcel = outbox_take(&fixture.outbox);
        assert_non_null(parcel);
        assert_int_equal(*parcel->text, expected);
        parcel_drop(parcel);
    }
    assert_true(outbox_empty(&fixture.outbox));
    tear_down(&fixture);
}

// Wherever a request waits it is found and taken out, the rest stays in order, and the lane's end is still
// its end.
static void a_request_is_taken_out(void **state) {
    (void)state;
    for (uint64_t out = 1; out <= 5; out++) {
        struct fixture fixture;
        char sent[8];
        set_up(&fixture);
        for (uint64_t id = 1; id <= 4; id++) {
            add(&fixture, (char)('0' + id), 1, id == 4 ? LANE_HIGH : LANE_NORMAL);
            struct parcel *parcel = fixture.outbox.lanes[id == 4 ? LANE_HIGH : LANE_NORMAL].first;
            while (parcel->next)
                parcel = parcel->next;
            parcel->hub_id = id;
        }
        struct parcel *taken = outbox_remove(&fixture.outbox, out);
        assert_int_equal(taken != NULL, out <= 4);
        assert_null(outbox_remove(&fixture.outbox, out));
        if (taken)
            parcel_drop(taken);
        add(&fixture, '9', 1, LANE_NORMAL);
        size_t count = send_all(&fixture, 1, 1, sent);
        static const char *const left[] = {"", "4239", "4139", "4129", "1239", "41239"};
        assert_int_equal(count, strlen(left[out]));
        assert_memory_equal(sent, left[out], count);
        tear_down(&fixture);
    }
}

// --- Very many requests

enum { LONG = 80000 };

// Adds a request that waits under `hub_id`, which is also its text.
static void add_request(struct fixture *fixture, uint64_t hub_id) {
    char *text = malloc(sizeof hub_id);
    memcpy(text, &hub_id, sizeof hub_id);
    struct parcel *parcel = parcel_from_text(&fixture->parcels, text, sizeof hub_id);
    parcel->is_encoded = true;
    parcel->lane = hub_id % 5 ? LANE_NORMAL : LANE_HIGH;
    parcel->hub_id = hub_id;
    outbox_add(&fixture->outbox, parcel);
}

static uint64_t random_below(uint64_t *seed, uint64_t bound) {
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % bound;
}

static void remove_one(struct fixture *fixture, bool waits[], uint64_t hub_id) {
    struct parcel *parcel = outbox_remove(&fixture->outbox, hub_id);
    assert_int_equal(parcel != NULL, waits[hub_id]);
    if (!parcel)
        return;
    assert_int_equal(parcel->hub_id, hub_id);
    waits[hub_id] = false;
    parcel_drop(parcel);
}

static void take_one(struct fixture *fixture, bool waits[], uint64_t last[LANES_COUNT]) {
    struct parcel *parcel = outbox_take(&fixture->outbox);
    if (!parcel)
        return;
    assert_true(waits[parcel->hub_id] && parcel->hub_id > last[parcel->lane]);
    last[parcel->lane] = parcel->hub_id;
    waits[parcel->hub_id] = false;
    parcel_drop(parcel);
}

// A request that is taken out one way isn't found another way, and the order holds; also without memory for
// the table, or for a larger one than there is.
static void requests_come_and_go(void **state) {
    (void)state;
    enum { IDS = 4000, STEPS = 12000 };
    for (uint64_t seed = 1; seed <= 40; seed++) {
        static bool waits[IDS + 1];
        uint64_t random = seed, next = 1, last[LANES_COUNT] = {0};
        struct fixture fixture;
        set_up(&fixture);
        memset(waits, 0, sizeof waits);
        for (unsigned step = 0; step < STEPS; step++) {
            bool fails = seed % 4 == 0 || (seed % 4 == 1 && next > 500);
            uint64_t choice = random_below(&random, step < STEPS / 2 ? 5 : 9);
            if (choice < 3 && next <= IDS) {
                waits[next] = true;
                add_request(&fixture, next++);
            } else if (choice < 5) {
                memory_fail_after(fails ? 0 : UINT64_MAX);
                remove_one(&fixture, waits, 1 + random_below(&random, IDS));
                memory_fail_after(UINT64_MAX);
            } else {
                take_one(&fixture, waits, last);
            }
        }
        for (uint64_t hub_id = 1; hub_id <= IDS; hub_id++)
            remove_one(&fixture, waits, hub_id);
        assert_true(outbox_empty(&fixture.outbox) && !fixture.outbox.index && fixture.outbox.bytes == 0 &&
                    fixture.outbox.urgent_bytes == 0);
        tear_down(&fixture);
    }
}

// Gone through one by one, each of these would take tenths of a millisecond.
static void a_long_queue_is_not_gone_through(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture);
    for (uint64_t hub_id = 1; hub_id <= LONG; hub_id++)
        add_request(&fixture, hub_id);
    for (unsigned turn = 0; turn < 10; turn++)
        for (uint64_t hub_id = LONG; hub_id > 0; hub_id--)
            assert_null(outbox_remove(&fixture.outbox, LONG + hub_id));
    for (uint64_t hub_id = LONG; hub_id > 0; hub_id--)
        parcel_drop(outbox_remove(&fixture.outbox, hub_id));
    for (unsigned count = 0; count < LONG; count++) { // as cancels that found nothing
        assert_null(outbox_remove(&fixture.outbox, count + 1));
        add(&fixture, 'c', 1, LANE_URGENT);
    }
    for (struct parcel *parcel; (parcel = outbox_take(&fixture.outbox));)
        parcel_drop(parcel);
    assert_null(fixture.outbox.index);
    tear_down(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_come_and_go),
        cmocka_unit_test(a_long_queue_is_not_gone_through),
        cmocka_unit_test(a_frame_of_several_parcels_is_not_cut),
        cmocka_unit_test(a_frame_of_small_parcels_is_not_cut),
        cmocka_unit_test(a_row_lies_behind_what_waits_and_before_what_comes),
        cmocka_unit_test(a_request_is_taken_out),
        cmocka_unit_test(urgent_goes_first_and_lanes_keep_their_order),
        cmocka_unit_test(no_more_is_gathered_than_is_wanted),
        cmocka_unit_test(nothing_overtakes_what_was_sealed),
        cmocka_unit_test(all_bytes_go_in_order_whatever_the_sizes_parts_and_steps),
        cmocka_unit_test(small_neighbours_become_one_vector_and_large_ones_are_not_copied),
        cmocka_unit_test(a_stage_in_use_is_not_overwritten),
        cmocka_unit_test(without_memory_to_copy_to_it_is_sent_from_where_it_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
