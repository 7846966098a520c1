// Which events are gathered, and where a run says that their bodies lie.
#include <stdio.h>

#include "core/send/event_run.h"
#include "tests/core/send/parcels.h"

#define FRAME_1    "Content-Length: 3\r\n\r\n{1}"
#define FRAME_2    "Content-Length: 4\r\n\r\n{22}"
#define WITH_FIELD "Content-Length: 3\r\nX-A: b\r\n\r\n{1}"
#define BETWEEN    "\r\nMSG a 1 24\r\n"

// One frame of a text that lies in the fixture's buffer.
struct one {
    struct unit unit;
    struct frame frame;
    struct event_place place;
};

static void find(struct fixture *fixture, uint32_t offset, uint32_t bytes, struct one *one) {
    static const struct unit_limits limits = {8192, 1 << 24};
    uint32_t at = fixture->frame.at + offset;
    unit_begin(&one->unit);
    assert_int_equal(frame_scan(&one->unit, fixture->buffer->bytes + at, bytes, &limits), UNIT_WHOLE);
    one->frame = frame_at(fixture->buffer, at, &one->unit);
    one->place = (struct event_place){.frame = &one->frame, .source = 7, .name = "n", .name_bytes = 1};
}

static const struct {
    const char *first, *between, *second;
    bool goes_on, canonical;
} pairs[] = {
    {FRAME_1, "", FRAME_2, true, true},
    {FRAME_1, BETWEEN, FRAME_2, true, false},
    {WITH_FIELD, "", FRAME_2, true, true},
    {FRAME_1, "", WITH_FIELD, true, true},
    {WITH_FIELD, "", WITH_FIELD, true, true},
    {WITH_FIELD, BETWEEN, FRAME_2, false, true}, // its field would be lost
    {FRAME_1, BETWEEN, WITH_FIELD, false, true},
};

static struct span body_in(const struct event_run *run, uint32_t index) {
    uint32_t at = (index ? run->ends[index - 1] : 0) + run->heads[index];
    return (struct span){run->at + at, run->ends[index] - run->tail - at};
}

static void assert_body(const struct event_run *run, uint32_t index, const struct frame *frame) {
    struct span body = body_in(run, index);
    assert_int_equal(body.at, frame->body.at);
    assert_int_equal(body.bytes, frame->body.bytes);
}

static void what_lies_apart_goes_on_where_bodies_may_be_written_anew(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct fixture fixture;
        struct event_run run = {0};
        struct one first, second;
        char text[256];
        int bytes = snprintf(text, sizeof text, "%s%s%s", pairs[i].first, pairs[i].between, pairs[i].second);
        uint32_t second_at = (uint32_t)(strlen(pairs[i].first) + strlen(pairs[i].between));
        set_up(&fixture, pairs[i].first);
        memcpy(fixture.buffer->bytes + fixture.frame.at, text, (size_t)bytes);
        find(&fixture, 0, (uint32_t)strlen(pairs[i].first), &first);
        find(&fixture, second_at, (uint32_t)bytes - second_at, &second);
        event_run_begin(&run, &first.place);
        event_run_add(&run, &first.place);
        assert_true(run.canonical);
        assert_int_equal(event_run_goes_on(&run, &second.place), pairs[i].goes_on);
        if (pairs[i].goes_on)
            event_run_add(&run, &second.place);
        assert_int_equal(run.canonical, pairs[i].canonical);
        assert_body(&run, 0, &first.frame);
        if (pairs[i].goes_on)
            assert_body(&run, 1, &second.frame);
        buffer_drop(run.buffer);
        tear_down(&fixture);
    }
}

// The last of three events lies apart, when the two before have been taken as they lie.
static void a_run_that_was_canonical_is_none_any_more(void **state) {
    (void)state;
    static const char text[] = FRAME_1 FRAME_2 BETWEEN FRAME_1 FRAME_2;
    static const char *const frames[] = {FRAME_1, FRAME_2, BETWEEN FRAME_1, FRAME_2};
    struct fixture fixture;
    struct event_run run = {0};
    struct one ones[4];
    set_up(&fixture, FRAME_1);
    memcpy(fixture.buffer->bytes + fixture.frame.at, text, sizeof text - 1);
    uint32_t at = 0;
    for (uint32_t n = 0; n < 4; n++) {
        uint32_t skipped = n == 2 ? sizeof BETWEEN - 1 : 0, bytes = (uint32_t)strlen(frames[n]);
        find(&fixture, at + skipped, bytes - skipped, &ones[n]);
        at += bytes;
        assert_int_equal(event_run_goes_on(&run, &ones[n].place), n > 0);
        if (n == 0)
            event_run_begin(&run, &ones[n].place);
        event_run_add(&run, &ones[n].place);
        assert_int_equal(run.canonical, n < 2);
    }
    for (uint32_t n = 0; n < 4; n++)
        assert_body(&run, n, &ones[n].frame);
    assert_false(event_run_goes_on(&run, &ones[3].place)); // it is in it
    buffer_drop(run.buffer);
    tear_down(&fixture);
}

// A body that is large goes from where it lies.
static void large_bodies_lie_side_by_side_or_alone(void **state) {
    (void)state;
    enum { LARGE = COPY_BYTES_MAX + 1, BETWEEN_BYTES = 5 };
    struct fixture fixture;
    char head[64];
    uint32_t bytes = (uint32_t)snprintf(head, sizeof head, "Content-Length: %d\r\n\r\n", LARGE) + LARGE;
    set_up(&fixture, FRAME_1);
    uint8_t *start = fixture.buffer->bytes + fixture.frame.at;
    assert_true(3 * bytes + BETWEEN_BYTES < fixture.buffer->capacity - fixture.frame.at);
    const uint32_t offsets[] = {0, bytes, 2 * bytes + BETWEEN_BYTES};
    struct one ones[3];
    for (uint32_t n = 0; n < 3; n++) {
        memcpy(start + offsets[n], head, strlen(head));
        find(&fixture, offsets[n], bytes, &ones[n]);
    }
    struct event_run run = {0};
    event_run_begin(&run, &ones[0].place);
    event_run_add(&run, &ones[0].place);
    assert_true(event_run_goes_on(&run, &ones[1].place));
    event_run_add(&run, &ones[1].place);
    assert_false(event_run_goes_on(&run, &ones[2].place));
    assert_true(run.canonical);
    buffer_drop(run.buffer);
    tear_down(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_apart_goes_on_where_bodies_may_be_written_anew),
        cmocka_unit_test(a_run_that_was_canonical_is_none_any_more),
        cmocka_unit_test(large_bodies_lie_side_by_side_or_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
