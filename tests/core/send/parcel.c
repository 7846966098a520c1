// Parcels: what leaves is what came in, but for the value that was spliced and a canonical Content-Length.
#include <stdio.h>

#include "core/send/line_breaks.h"
#include "tests/core/send/parcels.h"

static void assert_reads(struct parcel *parcel, const char *expected) {
    assert_reads_on(parcel, &wire_framed, expected);
}

static unsigned piece_count(const struct parcel *parcel) {
    struct piece pieces[PARCEL_VECTORS_MAX];
    unsigned count = parcel_pieces(parcel, pieces);
    size_t bytes = 0;
    for (unsigned index = 0; index < count; index++)
        bytes += pieces[index].count;
    assert_int_equal(bytes, parcel->bytes);
    return count;
}

static void a_frame_is_forwarded_as_it_lies(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
        unsigned pieces;
    } table[] = {
        {"Content-Length: 2\r\n\r\n{}", "Content-Length: 2\r\n\r\n{}", 1},
        {"Content-Length: 2\r\nA: b\r\n\r\n[]", "Content-Length: 2\r\nA: b\r\n\r\n[]", 1},
        {"A: b\r\nCONTENT-length:002\r\nC:d\r\n\r\n{}", "Content-Length: 2\r\nA: b\r\nC:d\r\n\r\n{}", 3},
        {"content-length: 2\r\n\r\n{}", "Content-Length: 2\r\n\r\n{}", 2},
        {"A: b\r\nContent-Length: 2\r\n\r\n{}", "Content-Length: 2\r\nA: b\r\n\r\n{}", 3},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct fixture fixture;
        set_up(&fixture, table[index].in);
        struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
        assert_int_equal(fixture.buffer->references, 2);
        assert_reads(parcel, table[index].out);
        assert_int_equal(piece_count(parcel), table[index].pieces);
        parcel_drop(parcel);
        assert_int_equal(fixture.buffer->references, 1);
        tear_down(&fixture);
    }
}

static void a_value_is_spliced(void **state) {
    (void)state;
    static const struct {
        const char *in;
        struct span id;
        const char *with, *out;
    } table[] = {
        {"Content-Length: 8\r\n\r\n{\"id\":1}",
         {6, 1},
         "4503599627370498",
         "Content-Length: 23\r\n\r\n{\"id\":4503599627370498}"},
        {"Content-Length: 25\r\n\r\n{\"id\":\"a long one\",\"b\":2}",
         {6, 12},
         "7",
         "Content-Length: 14\r\n\r\n{\"id\":7,\"b\":2}"},
        {"A: b\r\ncontent-length:8\r\nC: d\r\n\r\n{\"id\":1}",
         {6, 1},
         "\"x\"",
         "Content-Length: 10\r\nA: b\r\nC: d\r\n\r\n{\"id\":\"x\"}"},
        {"Content-Length: 1\r\n\r\n1", {0, 1}, "22", "Content-Length: 2\r\n\r\n22"},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct fixture fixture;
        set_up(&fixture, table[index].in);
        struct parcel *parcel =
            parcel_create_with_holes(&fixture.parcels, &fixture.frame, &table[index].id, 1);
        assert_int_equal(parcel->hole_count, 1);
        assert_true(fill(parcel, table[index].with));
        assert_reads(parcel, table[index].out);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

// Behind the length line, before what came; not for receivers of lines.
static void a_line_of_the_hubs_is_added(void **state) {
    (void)state;
    static const struct wire_line added = {19, "Patchbay-User: ci\r\n\r\n"};
    static const struct {
        const char *in, *out, *spliced;
    } table[] = {
        {"Content-Length: 8\r\n\r\n{\"id\":1}", "Content-Length: 8\r\nPatchbay-User: ci\r\n\r\n{\"id\":1}",
         "Content-Length: 9\r\nPatchbay-User: ci\r\n\r\n{\"id\":77}"},
        {"A: b\r\ncontent-length:8\r\nC: d\r\n\r\n{\"id\":1}",
         "Content-Length: 8\r\nPatchbay-User: ci\r\nA: b\r\nC: d\r\n\r\n{\"id\":1}",
         "Content-Length: 9\r\nPatchbay-User: ci\r\nA: b\r\nC: d\r\n\r\n{\"id\":77}"},
    };
    for (size_t index = 0; index < 2 * sizeof table / sizeof *table; index++) {
        struct fixture fixture;
        bool spliced = index % 2;
        set_up(&fixture, table[index / 2].in);
        fixture.frame.added = &added;
        struct span id = {6, 1};
        struct parcel *parcel = spliced ? parcel_create_with_holes(&fixture.parcels, &fixture.frame, &id, 1)
                                        : parcel_forward(&fixture.parcels, &fixture.frame);
        if (spliced)
            assert_true(fill(parcel, "77"));
        struct parcel *share = parcel_share(&fixture.parcels, parcel);
        struct parcel *copy = parcel_copy_of(&fixture.parcels, parcel);
        assert_reads_on(share, &wire_lines, spliced ? "{\"id\":77}\n" : "{\"id\":1}\n");
        parcel_drop(share);
        parcel->shares--;
        assert_reads(copy, spliced ? "Content-Length: 9\r\nPatchbay-User: ci\r\n\r\n{\"id\":77}"
                                   : "Content-Length: 8\r\nPatchbay-User: ci\r\n\r\n{\"id\":1}");
        parcel_drop(copy);
        assert_reads(parcel, spliced ? table[index / 2].spliced : table[index / 2].out);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

// Short ones are moved with more than counts, which must stay within the parcel's own bytes.
static void a_line_of_any_length_is_added(void **state) {
    (void)state;
    enum { BEHIND = 64, LONGEST = 90 };
    char in[256], expected[512];
    uint8_t out[512];
    for (int name = 1; name <= 128; name++) {
        for (int body = 1; body <= LONGEST; body++) {
            struct fixture fixture;
            struct wire_line added;
            added.bytes = (uint32_t)sprintf(added.text, "Patchbay-User: %0*d\r\n\r\n", name, 0) - 2;
            sprintf(in, "Content-Length: %d\r\n\r\n%*d", body, body, 7);
            sprintf(expected, "Content-Length: %d\r\nPatchbay-User: %0*d\r\n\r\n%*d", body, name, 0, body, 7);
            set_up(&fixture, in);
            fixture.frame.added = &added;
            struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
            parcel_encode(parcel, &wire_framed);
            assert_int_equal(parcel->bytes, strlen(expected));
            memset(out, '!', sizeof out);
            parcel_copy(parcel, out);
            assert_memory_equal(out, expected, parcel->bytes);
            for (size_t at = parcel->bytes; at < parcel->bytes + BEHIND; at++)
                assert_int_equal(out[at], '!');
            parcel_drop(parcel);
            tear_down(&fixture);
        }
    }
}

static void a_value_of_any_length_fits(void **state) {
    (void)state;
    for (size_t bytes = 1; bytes <= 256; bytes++) {
        struct fixture fixture;
        char id[257], expected[512];
        memset(id, 'i', bytes);
        id[bytes] = '\0';
        set_up(&fixture, "Content-Length: 8\r\n\r\n{\"id\":1}");
        struct parcel *parcel =
            parcel_create_with_holes(&fixture.parcels, &fixture.frame, &(struct span){6, 1}, 1);
        assert_true(parcel_fill(parcel, &(struct piece){id, bytes}));
        memset(id, '!', bytes); // the parcel has its own
        snprintf(expected, sizeof expected, "Content-Length: %zu\r\n\r\n{\"id\":", 7 + bytes);
        size_t head = strlen(expected);
        memset(expected + head, 'i', bytes);
        memcpy(expected + head + bytes, "}", 2);
        assert_reads(parcel, expected);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

static void several_values_are_spliced_and_cut(void **state) {
    (void)state;
    static const struct {
        const char *in;
        struct span values[PARCEL_HOLES_MAX];
        unsigned count;
        const char *texts[PARCEL_HOLES_MAX];
        const char *out;
    } table[] = {
        {"Content-Length: 12\r\n\r\n[1,22,3,444]",
         {{1, 1}, {3, 2}, {6, 1}, {8, 3}},
         4,
         {"a", "bb", "", "dd"},
         "Content-Length: 10\r\n\r\n[a,bb,,dd]"},
        {"A: b\r\nContent-Length: 14\r\nC: d\r\n\r\n{\"id\":1,\"b\":2}",
         {{1, 7}},
         1,
         {""},
         "Content-Length: 7\r\nA: b\r\nC: d\r\n\r\n{\"b\":2}"},
        {"Content-Length: 3\r\n\r\n123",
         {{0, 1}, {1, 1}, {2, 1}},
         3,
         {"a long text that does not fit the parcel", "another one that is as long as that is", "c"},
         "Content-Length: 79\r\n\r\na long text that does not fit the parcelanother one that is as long as "
         "that "
         "isc"},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct fixture fixture;
        struct piece texts[PARCEL_HOLES_MAX];
        set_up(&fixture, table[index].in);
        for (unsigned which = 0; which < table[index].count; which++)
            texts[which] = (struct piece){table[index].texts[which], strlen(table[index].texts[which])};
        struct parcel *parcel = parcel_create_with_holes(&fixture.parcels, &fixture.frame,
                                                         table[index].values, table[index].count);
        assert_true(parcel_fill(parcel, texts));
        assert_reads(parcel, table[index].out);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

// A member of a batch goes under the batch's header block, as a frame of its own.
static void a_member_of_a_batch_is_a_frame(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "Content-Length: 15\r\nA: b\r\n\r\n[{\"id\":1},22,3]");
    struct frame member = fixture.frame;
    member.body = (struct span){fixture.frame.body.at + 1, 8};
    struct parcel *whole = parcel_forward(&fixture.parcels, &member);
    assert_reads(whole, "Content-Length: 8\r\nA: b\r\n\r\n{\"id\":1}");
    struct parcel *spliced = parcel_create_with_holes(&fixture.parcels, &member, &(struct span){6, 1}, 1);
    assert_true(fill(spliced, "77"));
    assert_reads(spliced, "Content-Length: 9\r\nA: b\r\n\r\n{\"id\":77}");
    parcel_drop(whole);
    parcel_drop(spliced);
    tear_down(&fixture);
}

// A block that others have, too, may change once the parcel has its own.
static void a_block_becomes_the_parcels_own(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "A: b\r\nContent-Length: 15\r\nC: d\r\n\r\n[{\"id\":1},22,3]");
    struct frame member = fixture.frame;
    member.body = (struct span){fixture.frame.body.at + 1, 8};
    struct parcel *parcel = parcel_create_with_holes(&fixture.parcels, &member, &(struct span){6, 1}, 1);
    assert_true(fill(parcel, "77"));
    memory_fail_after(0);
    assert_false(parcel_copy_block(parcel));
    memory_fail_after(UINT64_MAX);
    assert_true(parcel_copy_block(parcel));
    memset(fixture.buffer->bytes + fixture.frame.at, 'x', fixture.frame.unit->bytes);
    assert_reads(parcel, "Content-Length: 9\r\nA: b\r\nC: d\r\n\r\n{\"id\":77}");
    parcel_drop(parcel);
    tear_down(&fixture);
}

// Several bodies are one array: what came with each of them goes, and one envelope is around all.
static void bodies_become_an_array(void **state) {
    (void)state;
    static const struct {
        const struct wire *wire;
        const char *first, *second;
    } table[] = {
        {&wire_framed, "Content-Length: 26\r\n\r\n[{\"id\":77,\n\"a\":1}", ",{\"b\":2}]"},
        {&wire_lines, "[{\"id\":77, \"a\":1}", ",{\"b\":2}]\n"},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct fixture fixture;
        set_up(&fixture, "Content-Length: 15\r\nA: b\r\n\r\n{\"id\":1,\n\"a\":1}");
        struct parcel *first =
            parcel_create_with_holes(&fixture.parcels, &fixture.frame, &(struct span){6, 1}, 1);
        assert_true(fill(first, "77"));
        char *text = memory_take(7);
        memcpy(text, "{\"b\":2}", 7);
        struct parcel *second = parcel_from_text(&fixture.parcels, text, 7);
        size_t bytes = first->bytes + second->bytes;
        parcel_enclose(first, "[");
        parcel_enclose(second, ",");
        first->next = second;
        first->unfinished = true;
        second->next = NULL;
        parcel_encode_chain(first, table[index].wire, bytes + 2, "]");
        assert_reads(first, table[index].first);
        assert_reads(second, table[index].second);
        parcel_drop(first);
        parcel_drop(second);
        tear_down(&fixture);
    }
}

// A receiver of lines gets the body alone, on one line, whatever stood around it and wherever it had breaks.
static void a_body_becomes_a_line(void **state) {
    (void)state;
    static const struct {
        const char *in, *out;
    } table[] = {
        {"Content-Length: 2\r\n\r\n{}", "{}\n"},
        {"A: b\r\nContent-Length: 2\r\nC: d\r\n\r\n{}", "{}\n"},
        {"Content-Length: 9\r\n\r\n\r\n{\n\r\n\r}\n", "  {    } \n"},
        {"Content-Length: 12\r\n\r\n{\"a\":\"b\nc\"}\n", "{\"a\":\"b c\"} \n"},
    };
    for (size_t index = 0; index < sizeof table / sizeof *table; index++) {
        struct fixture fixture;
        set_up(&fixture, table[index].in);
        struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
        assert_reads_on(parcel, &wire_lines, table[index].out);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

// A body that came without an envelope gets one.
static void a_line_becomes_a_frame(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "Content-Length: 2\r\n\r\n{}");
    struct unit line = {.length_known = true, .bytes = 9, .body_bytes = 8};
    memcpy(fixture.buffer->bytes, "{\"id\":1}\n", 9);
    struct frame frame = frame_at(fixture.buffer, 0, &line);
    struct parcel *whole = parcel_forward(&fixture.parcels, &frame);
    assert_reads(whole, "Content-Length: 8\r\n\r\n{\"id\":1}");
    struct parcel *spliced = parcel_create_with_holes(&fixture.parcels, &frame, &(struct span){6, 1}, 1);
    assert_true(fill(spliced, "123"));
    assert_reads_on(spliced, &wire_lines, "{\"id\":123}\n");
    parcel_drop(whole);
    parcel_drop(spliced);
    tear_down(&fixture);
}

// Each receiver has a frame of its own of one frame run.
static void a_frame_of_a_stretch_is_narrowed_to_its_body(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]");
    struct span frames = {fixture.frame.at, 23 + 24};
    struct parcel *origin = parcel_frame_run(&fixture.parcels, fixture.buffer, frames, 2);
    struct parcel *all = parcel_share(&fixture.parcels, origin),
                  *one = parcel_share(&fixture.parcels, origin);
    parcel_narrow(one, (struct span){23 + 21, 3});
    assert_reads_on(one, &wire_lines, "[1]\n");
    assert_reads(all, "Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]");
    assert_int_equal(all->frames, 2);
    assert_int_equal(one->frames, 1);
    assert_false(frame_run_has_break(origin, (struct span){23 + 21, 3}));
    assert_true(frame_run_has_break(origin, (struct span){17, 2}));
    parcel_drop(one);
    parcel_drop(all);
    origin->shares = 0; // let go twice
    parcel_drop(origin);
    tear_down(&fixture);
}

// Where a body that others have, too, has line breaks, one copy of it without them serves all who need that.
static void a_flat_copy_has_no_breaks(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "Content-Length: 5\r\nA: b\r\n\r\n{\r\n}\n");
    struct parcel *origin = parcel_forward(&fixture.parcels, &fixture.frame);
    assert_true(parcel_breaks(origin));
    struct parcel *flat = parcel_broken_for(&fixture.parcels, origin, &wire_lines);
    assert_false(parcel_breaks(flat));
    struct parcel *share = parcel_share(&fixture.parcels, flat);
    assert_reads_on(share, &wire_lines, "{  } \n");
    assert_reads(origin, "Content-Length: 5\r\nA: b\r\n\r\n{\r\n}\n");
    parcel_drop(share);
    flat->shares = 0; // let go
    parcel_drop(flat);
    parcel_drop(origin);
    tear_down(&fixture);
}

// One body goes to receivers of different wires.
static void shares_are_encoded_each_for_its_receiver(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "Content-Length: 2\r\nA: b\r\n\r\n{}");
    struct parcel *origin = parcel_forward(&fixture.parcels, &fixture.frame);
    struct parcel *line = parcel_share(&fixture.parcels, origin),
                  *frame = parcel_share(&fixture.parcels, origin);
    assert_reads_on(line, &wire_lines, "{}\n");
    assert_reads(frame, "Content-Length: 2\r\nA: b\r\n\r\n{}");
    assert_int_equal(piece_count(frame), 1);
    assert_false(origin->is_encoded);
    parcel_drop(line);
    parcel_drop(frame);
    origin->shares = 0; // let go twice
    parcel_drop(origin);
    tear_down(&fixture);
}

// An origin of one shard, shared on another.
static void shares_keep_their_origin(void **state) {
    (void)state;
    struct fixture fixture;
    struct parcel_pool other;
    set_up(&fixture, "A: b\r\nContent-Length: 2\r\n\r\n{}");
    parcel_pool_init(&other, &fixture.budget, 4);
    struct parcel *origin = parcel_forward(&fixture.parcels, &fixture.frame);
    origin->lane = LANE_HIGH;
    struct parcel *first = parcel_share(&other, origin), *second = parcel_share(&other, origin);
    assert_int_equal(origin->shares, 2);
    assert_int_equal(fixture.buffer->references, 2);
    assert_reads(first, "Content-Length: 2\r\nA: b\r\n\r\n{}");
    assert_int_equal(second->lane, LANE_HIGH);
    struct parcel *copy = parcel_copy_of(&other, first);
    assert_null(copy->shared_from);
    assert_ptr_equal(parcel_drop(first), origin);
    assert_ptr_equal(parcel_drop(second), origin);
    assert_null(parcel_drop(copy));
    origin->shares = 0; // let go twice
    assert_null(parcel_drop(origin));
    assert_true(parcel_pool_full(&other));
    parcel_pool_deinit(&other);
    tear_down(&fixture);
}

static void a_copy_keeps_no_buffer(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, "A: b\r\nContent-Length: 2\r\n\r\n{}");
    struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
    parcel->hub_id = 77;
    parcel->lane = LANE_HIGH;
    parcel_encode(parcel, &wire_framed);
    struct parcel *copy = parcel_copy_of(&fixture.parcels, parcel);
    parcel_drop(parcel);
    assert_int_equal(fixture.buffer->references, 1);
    memset(fixture.buffer->bytes, '#', fixture.buffer->capacity);
    assert_reads(copy, "Content-Length: 2\r\nA: b\r\n\r\n{}");
    assert_int_equal(copy->hub_id, 77);
    assert_int_equal(copy->lane, LANE_HIGH);
    parcel_drop(copy);
    tear_down(&fixture);
}

static void without_memory_nothing_is_kept(void **state) {
    (void)state;
    struct fixture fixture;
    char id[200] = {0}, text[] = "own";
    set_up(&fixture, "Content-Length: 8\r\n\r\n{\"id\":1}");
    memory_fail_after(0);
    assert_null(parcel_forward(&fixture.parcels, &fixture.frame));
    assert_null(parcel_create_with_holes(&fixture.parcels, &fixture.frame, &(struct span){6, 1}, 1));
    assert_null(parcel_from_text(&fixture.parcels, text, 3));
    memory_fail_after(1);
    struct parcel *parcel =
        parcel_create_with_holes(&fixture.parcels, &fixture.frame, &(struct span){6, 1}, 1);
    assert_false(parcel_fill(parcel, &(struct piece){id, sizeof id}));
    assert_true(fill(parcel, "5")); // it is as it was, and another text may fit
    assert_reads(parcel, "Content-Length: 8\r\n\r\n{\"id\":5}");
    assert_null(parcel_copy_of(&fixture.parcels, parcel));
    memory_fail_after(UINT64_MAX);
    parcel_drop(parcel);
    tear_down(&fixture);
}

// Events find no room first, then other messages, answers last; what lies at rest is counted already, but
// events bring more than that.
static void the_budget_bounds_each_use(void **state) {
    (void)state;
    struct fixture fixture;
    struct parcel *kept = NULL, *parcel;
    struct span id = {6, 1};
    uint64_t counts[3] = {0};
    set_up(&fixture, "Content-Length: 8\r\n\r\n{\"id\":1}");
    struct buffer_budget *budget = &fixture.budget;
    struct parcel *origin = parcel_forward(&fixture.parcels, &fixture.frame);
    uint64_t max = budget->bytes + (1 << 20);
    budget->bytes_max = max;
    for (unsigned use = 0; use < 3; use++) {
        while ((parcel = use == 0   ? parcel_share(&fixture.parcels, origin)
                         : use == 1 ? parcel_create_with_holes(&fixture.parcels, &fixture.frame, &id, 1)
                                    : parcel_create_response(&fixture.parcels, &fixture.frame, &id))) {
            parcel->next = kept;
            kept = parcel;
            counts[use]++;
        }
        assert_true(budget->bytes <= max);
        assert_int_equal(budget->refused, use + 1);
    }
    assert_in_range(counts[0] * sizeof *parcel, max / 2, max - max / 16 * 3);
    assert_true(counts[1] > counts[2] && counts[2] > 0);
    assert_null(parcel_from_text(&fixture.parcels, NULL, 0));
    assert_null(parcel_copy_of(&fixture.parcels, kept));
    for (uint64_t left = counts[0] + counts[1] + counts[2]; left > 0; left--) {
        parcel = kept;
        kept = kept->next;
        parcel_drop(parcel);
    }
    origin->shares = 0;
    assert_null(parcel_share(&fixture.parcels, origin));
    parcel = parcel_forward(&fixture.parcels, &fixture.frame);
    assert_non_null(parcel);
    parcel_drop(parcel);
    origin->shares = 0;
    parcel_drop(origin);
    tear_down(&fixture);
}

// A text that doesn't fit into the parcel itself, and one of the hub's own.
static void texts_are_within_the_budget(void **state) {
    (void)state;
    struct fixture fixture;
    static const char id[10000];
    set_up(&fixture, "Content-Length: 8\r\n\r\n{\"id\":1}");
    struct parcel *parcel = parcel_create_response(&fixture.parcels, &fixture.frame, &(struct span){6, 1});
    char *text = memory_take(sizeof id);
    parcel_drop(parcel_from_text(&fixture.parcels, memory_take(1), 1)); // one is at rest
    uint64_t before = fixture.budget.bytes;
    fixture.budget.bytes_max = before + sizeof id - 1;
    assert_false(parcel_fill(parcel, &(struct piece){id, sizeof id}));
    assert_null(parcel_from_text(&fixture.parcels, text, sizeof id));
    assert_int_equal(fixture.budget.bytes, before);
    fixture.budget.bytes_max = 1 << 24;
    assert_true(parcel_fill(parcel, &(struct piece){id, sizeof id}));
    assert_true(fixture.budget.bytes >= before + sizeof id);
    parcel_drop(parcel);
    parcel_drop(parcel_from_text(&fixture.parcels, text, sizeof id));
    tear_down(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_frame_is_forwarded_as_it_lies),
        cmocka_unit_test(a_value_is_spliced),
        cmocka_unit_test(a_line_of_the_hubs_is_added),
        cmocka_unit_test(a_line_of_any_length_is_added),
        cmocka_unit_test(a_value_of_any_length_fits),
        cmocka_unit_test(a_copy_keeps_no_buffer),
        cmocka_unit_test(without_memory_nothing_is_kept),
        cmocka_unit_test(several_values_are_spliced_and_cut),
        cmocka_unit_test(a_member_of_a_batch_is_a_frame),
        cmocka_unit_test(a_block_becomes_the_parcels_own),
        cmocka_unit_test(bodies_become_an_array),
        cmocka_unit_test(a_body_becomes_a_line),
        cmocka_unit_test(a_line_becomes_a_frame),
        cmocka_unit_test(a_frame_of_a_stretch_is_narrowed_to_its_body),
        cmocka_unit_test(a_flat_copy_has_no_breaks),
        cmocka_unit_test(shares_are_encoded_each_for_its_receiver),
        cmocka_unit_test(shares_keep_their_origin),
        cmocka_unit_test(the_budget_bounds_each_use),
        cmocka_unit_test(texts_are_within_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
