// Line breaks in bodies, for one receiver and for many, and heads of parcels' own.
#include <stdio.h>

#include "core/send/line_breaks.h"
#include "core/wire/sse.h"
#include "tests/core/send/parcels.h"

#ifdef PATCHBAY_SANITIZED
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static void set_up_body(struct fixture *fixture, const char *body) {
    char frame[512];
    snprintf(frame, sizeof frame, "Content-Length: %zu\r\nA: b\r\n\r\n%s", strlen(body), body);
    set_up(fixture, frame);
}

static const struct {
    const char *body, *spaces, *lines;
} bodies[] = {
    {"{}", "{}\n", "data: {}\n\n"},
    {"{\n}", "{ }\n", "data: {\ndata: }\n\n"},
    {"{\r}", "{ }\n", "data: {\ndata: }\n\n"},
    {"{\r\n}", "{  }\n", "data: {\ndata: }\n\n"},
    {"{\n\r}", "{  }\n", "data: {\ndata: \ndata: }\n\n"},
    {"\r\n{\n\n\r\r\n}\r", "  {     } \n", "data: \ndata: {\ndata: \ndata: \ndata: \ndata: }\ndata: \n\n"},
};

static void breaks_become_what_the_receiver_wants(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        struct fixture fixture;
        set_up_body(&fixture, bodies[i].body);
        struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
        assert_reads_on(parcel, &wire_sse, bodies[i].lines);
        parcel_drop(parcel);
        parcel = parcel_forward(&fixture.parcels, &fixture.frame);
        assert_reads_on(parcel, &wire_lines, bodies[i].spaces);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

// A body without breaks, as nearly all are, is sent from where it lies.
static void a_body_without_breaks_is_not_copied(void **state) {
    (void)state;
    struct fixture fixture;
    struct piece pieces[PARCEL_VECTORS_MAX];
    set_up_body(&fixture, "{}");
    struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
    parcel_encode(parcel, &wire_sse);
    assert_int_equal(parcel_pieces(parcel, pieces), 3);
    assert_ptr_equal(pieces[1].bytes, frame_body(&fixture.frame));
    parcel_drop(parcel);
    tear_down(&fixture);
}

// In a body in pieces, a CR at the end of one and a line feed at the start of the next are one break.
static void a_body_in_pieces_is_split(void **state) {
    (void)state;
    static const struct {
        const char *text, *lines;
    } cases[] = {
        {"", "data: [\ndata: ,\ndata: 2]\n\n"},
        {"7", "data: [\ndata: 7\ndata: ,\ndata: 2]\n\n"},
        {"a text that is long enough to lie in memory of its own, where it is then taken out of",
         "data: [\ndata: a text that is long enough to lie in memory of its own, where it is then taken out "
         "of\n"
         "data: ,\ndata: 2]\n\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture fixture;
        set_up_body(&fixture, "[\r1\n,\n2]");
        struct parcel *parcel =
            parcel_create_with_holes(&fixture.parcels, &fixture.frame, &(struct span){2, 1}, 1);
        assert_true(fill(parcel, cases[i].text));
        assert_reads_on(parcel, &wire_sse, cases[i].lines);
        parcel_drop(parcel);
        tear_down(&fixture);
    }
}

static void text_of_its_own_is_split(void **state) {
    (void)state;
    struct fixture fixture;
    set_up_body(&fixture, "{}");
    char *text = memory_take(3);
    memcpy(text, "{\n}", 3);
    struct parcel *parcel = parcel_from_text(&fixture.parcels, text, 3);
    assert_reads_on(parcel, &wire_sse, "data: {\ndata: }\n\n");
    parcel_drop(parcel);
    tear_down(&fixture);
}

// The text means the same.
static void without_memory_lines_are_joined(void **state) {
    (void)state;
    struct fixture fixture;
    set_up_body(&fixture, "{\r\n}");
    struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
    uint64_t before = fixture.budget.bytes;
    fixture.budget.bytes_max = before;
    parcel_encode(parcel, &wire_sse);
    assert_int_equal(fixture.budget.bytes, before);
    fixture.budget.bytes_max = 1 << 24;
    assert_reads_on(parcel, &wire_sse, "data: {  }\n\n");
    parcel_drop(parcel);
    tear_down(&fixture);
}

// One copy serves all receivers of a wire, and leaves the body as it is for the others.
static void many_share_one_copy(void **state) {
    (void)state;
    for (size_t i = 1; i < sizeof bodies / sizeof *bodies; i++) {
        struct fixture fixture;
        set_up_body(&fixture, bodies[i].body);
        struct parcel *original = parcel_forward(&fixture.parcels, &fixture.frame);
        assert_true(parcel_breaks(original));
        const struct {
            const struct wire *wire;
            const char *expected;
        } receivers[] = {{&wire_sse, bodies[i].lines}, {&wire_lines, bodies[i].spaces}};
        for (size_t which = 0; which < 2; which++) {
            struct parcel *copy = parcel_broken_for(&fixture.parcels, original, receivers[which].wire);
            for (int turn = 0; turn < 2; turn++) {
                struct parcel *share = parcel_share(&fixture.parcels, copy);
                assert_reads_on(share, receivers[which].wire, receivers[which].expected);
                parcel_drop(share);
            }
            copy->shares = 0; // let go twice
            parcel_drop(copy);
        }
        assert_memory_equal(frame_body(&fixture.frame), bodies[i].body, strlen(bodies[i].body));
        parcel_drop(original);
        tear_down(&fixture);
    }
}

// One copy of a frame run has all bodies.
static void a_frame_run_is_copied_once(void **state) {
    (void)state;
    static const char frame_run[] =
        "Content-Length: 3\r\n\r\n{\n}Content-Length: 3\r\n\r\n[1]Content-Length: 4\r\n\r\n[\r\n]";
    static const char *const expected[] = {"data: {\ndata: }\n\n", "data: [1]\n\n", "data: [\ndata: ]\n\n"};
    struct fixture fixture;
    set_up(&fixture, frame_run);
    struct span frames = {fixture.frame.at, sizeof frame_run - 1};
    struct span spans[] = {{21, 3}, {24 + 21, 3}, {48 + 21, 4}};
    struct parcel *original = parcel_frame_run(&fixture.parcels, fixture.buffer, frames, 3);
    struct parcel *copy = frame_run_broken_for(&fixture.parcels, original, &wire_sse, spans, 3);
    for (unsigned index = 0; index < 3; index++) {
        struct parcel *share = parcel_share(&fixture.parcels, copy);
        parcel_narrow(share, spans[index]);
        assert_reads_on(share, &wire_sse, expected[index]);
        parcel_drop(share);
    }
    copy->shares = 0; // let go three times
    parcel_drop(copy);
    parcel_drop(original);
    tear_down(&fixture);
}

static void without_memory_there_is_no_copy(void **state) {
    (void)state;
    struct fixture fixture;
    set_up_body(&fixture, "{\n}");
    struct parcel *original = parcel_forward(&fixture.parcels, &fixture.frame);
    fixture.budget.bytes_max = fixture.budget.bytes;
    assert_null(parcel_broken_for(&fixture.parcels, original, &wire_sse));
    assert_null(parcel_broken_for(&fixture.parcels, original, &wire_lines));
    fixture.budget.bytes_max = 1 << 24;
    parcel_drop(original);
    tear_down(&fixture);
}

// --- Heads

static void a_head_is_written(void **state) {
    (void)state;
    static const struct {
        const char *event, *id, *head;
    } cases[] = {
        {NULL, NULL, "data: "},
        {"dropped", NULL, "event: dropped\ndata: "},
        {NULL, "s:-", "id: s:-\ndata: "},
        {"chunk", "s:7", "event: chunk\nid: s:7\ndata: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[SSE_HEAD_BYTES_MAX];
        size_t bytes = sse_head(out, cases[i].event, cases[i].id, cases[i].id ? strlen(cases[i].id) : 0);
        assert_int_equal(bytes, strlen(cases[i].head));
        assert_memory_equal(out, cases[i].head, bytes);
    }
}

// Heads of any length, on shares and on bodies of their own, with breaks and without.
static void a_head_of_its_own_stands_before_the_body(void **state) {
    (void)state;
    for (size_t bytes = 1; bytes <= 255; bytes++) {
        struct fixture fixture;
        char head[256], expected[512];
        memset(head, 'h', bytes);
        head[bytes] = 0;
        set_up_body(&fixture, "[\n1]");
        struct parcel *one =
            parcel_create_with_holes(&fixture.parcels, &fixture.frame, &(struct span){2, 1}, 1);
        assert_true(fill(one, "23"));
        assert_true(parcel_set_head(one, head, bytes));
        struct parcel *original = parcel_forward(&fixture.parcels, &fixture.frame);
        struct parcel *copy = parcel_broken_for(&fixture.parcels, original, &wire_sse);
        struct parcel *share = parcel_share(&fixture.parcels, copy);
        assert_true(parcel_set_head(share, head, bytes));
        memset(head, '!', bytes); // the parcels have their own
        memset(expected, 'h', bytes);
        memcpy(expected + bytes, "[\ndata: 23]\n\n", sizeof "[\ndata: 23]\n\n");
        assert_reads_on(one, &wire_sse, expected);
        memcpy(expected + bytes, "[\ndata: 1]\n\n", sizeof "[\ndata: 1]\n\n");
        assert_reads_on(share, &wire_sse, expected);
        parcel_drop(one);
        parcel_drop(share);
        copy->shares = 0; // let go
        parcel_drop(copy);
        parcel_drop(original);
        tear_down(&fixture);
    }
}

static void without_memory_there_is_no_long_head(void **state) {
    (void)state;
    struct fixture fixture;
    char head[200] = {0};
    set_up_body(&fixture, "{}");
    struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
    fixture.budget.bytes_max = fixture.budget.bytes;
    assert_false(parcel_set_head(parcel, head, sizeof head));
    assert_true(parcel_set_head(parcel, "event: dropped\ndata: ", 21));
    fixture.budget.bytes_max = 1 << 24;
    assert_reads_on(parcel, &wire_sse, "event: dropped\ndata: {}\n\n");
    parcel_drop(parcel);
    tear_down(&fixture);
}

// Memory of a head goes to the next head of the same shard, and back where none is wanted.
static void a_long_head_rests_until_it_isnt_needed(void **state) {
    (void)state;
    struct fixture fixture;
    set_up_body(&fixture, "{}");
    struct parcel *parcel = parcel_forward(&fixture.parcels, &fixture.frame);
    memset(parcel_head_take(parcel, 200, &fixture.parcels), 'h', 200);
    parcel_drop(parcel);
    uint32_t rested = fixture.parcels.head_count;
    assert_int_equal(rested, SANITIZED ? 0 : 1);
    struct parcel *other = parcel_forward(&fixture.parcels, &fixture.frame);
    assert_non_null(parcel_head_take(other, 250, NULL)); // on another shard
    assert_int_equal(fixture.parcels.head_count, rested);
    struct parcel *own = parcel_forward(&fixture.parcels, &fixture.frame);
    assert_non_null(parcel_head_take(own, 384, &fixture.parcels));
    assert_int_equal(fixture.parcels.head_count, 0);
    struct parcel *large = parcel_forward(&fixture.parcels, &fixture.frame);
    assert_non_null(parcel_head_take(large, 385, &fixture.parcels));
    parcel_drop(own);
    parcel_drop(other);
    parcel_drop(large);
    assert_int_equal(fixture.parcels.head_count, 2 * rested);
    parcel_pool_shrink(&fixture.parcels);
    parcel_pool_shrink(&fixture.parcels);
    assert_int_equal(fixture.parcels.head_count, 0);
    tear_down(&fixture);
}

// A receiver of events has nothing to say.
static void what_a_reader_of_events_says_is_nothing(void **state) {
    (void)state;
    struct unit unit;
    uint8_t bytes[] = "whatever";
    static const struct unit_limits limits = {8192, 1 << 24};
    unit_begin(&unit);
    assert_int_equal(wire_sse.scan(&unit, bytes, 0, &limits), UNIT_OPEN);
    assert_int_equal(wire_sse.scan(&unit, bytes, sizeof bytes, &limits), UNIT_WHOLE);
    assert_int_equal(unit.bytes, sizeof bytes);
    assert_int_equal(unit.body_bytes, 0);
    assert_false(unit.counts_without_body);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_become_what_the_receiver_wants),
        cmocka_unit_test(a_body_without_breaks_is_not_copied),
        cmocka_unit_test(a_body_in_pieces_is_split),
        cmocka_unit_test(text_of_its_own_is_split),
        cmocka_unit_test(without_memory_lines_are_joined),
        cmocka_unit_test(many_share_one_copy),
        cmocka_unit_test(a_frame_run_is_copied_once),
        cmocka_unit_test(without_memory_there_is_no_copy),
        cmocka_unit_test(a_head_is_written),
        cmocka_unit_test(a_head_of_its_own_stands_before_the_body),
        cmocka_unit_test(without_memory_there_is_no_long_head),
        cmocka_unit_test(a_long_head_rests_until_it_isnt_needed),
        cmocka_unit_test(what_a_reader_of_events_says_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
