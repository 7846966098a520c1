// Bodies that lie side by side, made ready at once for all receivers of a wire.
#include "core/send/event_run.h"
#include "core/wire/wire.h"
#include "tests/core/send/parcels.h"

static const char text[] =
    "Content-Length: 3\r\n\r\n{\n}Content-Length: 3\r\n\r\n[1]Content-Length: 4\r\n\r\n[\r\n]";
static const struct span bodies[] = {{21, 3}, {24 + 21, 3}, {48 + 21, 4}};
enum { BODIES = sizeof bodies / sizeof *bodies };

static struct parcel *make_frame_run(struct fixture *fixture) {
    set_up(fixture, text);
    struct span frames = {fixture->frame.at, sizeof text - 1};
    return parcel_frame_run(&fixture->parcels, fixture->buffer, frames, BODIES);
}

static const struct {
    const struct wire *wire;
    const char *expected[BODIES];
} receivers[] = {
    {&wire_framed,
     {"Content-Length: 3\r\n\r\n{\n}", "Content-Length: 3\r\n\r\n[1]", "Content-Length: 4\r\n\r\n[\r\n]"}},
    {&wire_lines, {"{ }\n", "[1]\n", "[  ]\n"}},
    {&wire_websocket, {"\x81\x03{\n}", "\x81\x03[1]", "\x81\x04[\r\n]"}},
    {&wire_sse, {"data: {\ndata: }\n\n", "data: [1]\n\n", "data: [\ndata: ]\n\n"}},
};

// A share of the whole, or of the first ones, is all that a receiver takes.
static void each_wire_has_its_own(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof receivers / sizeof *receivers; i++) {
        struct fixture fixture;
        struct parcel *frame_run = make_frame_run(&fixture);
        uint32_t ends[BODIES];
        struct parcel *ready =
            frame_run_encode(&fixture.parcels, frame_run, receivers[i].wire, bodies, ends, BODIES);
        char expected[256] = "";
        for (uint32_t count = 1; count <= BODIES; count++) {
            strcat(expected, receivers[i].expected[count - 1]);
            assert_int_equal(ends[count - 1], strlen(expected));
            struct parcel *share = parcel_share(&fixture.parcels, ready);
            assert_true(share->is_encoded);
            assert_int_equal(share->frames, BODIES);
            parcel_shorten(share, ends[count - 1], count);
            assert_reads_on(share, receivers[i].wire, expected);
            parcel_drop(share);
        }
        ready->shares = 0; // let go three times
        parcel_drop(ready);
        assert_memory_equal(fixture.buffer->bytes + fixture.frame.at, text, sizeof text - 1);
        parcel_drop(frame_run);
        tear_down(&fixture);
    }
}

static void without_memory_there_is_none(void **state) {
    (void)state;
    struct fixture fixture;
    uint32_t ends[BODIES];
    struct parcel *frame_run = make_frame_run(&fixture);
    fixture.budget.bytes_max = fixture.budget.bytes;
    assert_null(frame_run_encode(&fixture.parcels, frame_run, &wire_sse, bodies, ends, BODIES));
    fixture.budget.bytes_max = 1 << 24;
    parcel_drop(frame_run);
    tear_down(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_wire_has_its_own),
        cmocka_unit_test(without_memory_there_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
