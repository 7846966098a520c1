// Requests and answers that come as one body: whoever may publish on a server may write anything there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/bundle.h"

static const struct bundled some[] = {
    {.number = 1, .time_ms = 3600 * 1000, .level = GOVERNANCE_MANUAL},
    {.number = 0x12a4, .level = GOVERNANCE_SUPERVISED, .is_vouched = true},
    {.number = UINT64_MAX, .time_ms = 1},
};
static const char *const bodies[] = {"x", "{\"id\":1}\r\n", "last"};
enum { SOME = 3 };

static uint32_t write_some(char text[256]) {
    uint32_t bytes = 0;
    for (unsigned at = 0; at < SOME; at++) {
        bundle_write_head(text + bytes, &some[at], (uint32_t)strlen(bodies[at]));
        bytes += BUNDLE_HEAD_BYTES;
        bytes +=
            (uint32_t)snprintf(text + bytes, 256 - bytes, "%s%s", bodies[at], at + 1 < SOME ? "\r\n" : "");
    }
    return bytes;
}

static void what_is_written_is_read(void **state) {
    char text[256];
    (void)state;
    struct span rest = {0, write_some(text)}, body;
    struct bundled bundled;
    for (unsigned at = 0; at < SOME; at++) {
        assert_true(bundle_next((uint8_t *)text, &rest, &bundled, &body));
        assert_true(bundled.number == some[at].number);
        assert_int_equal(bundled.time_ms, some[at].time_ms);
        assert_int_equal(bundled.level, some[at].level);
        assert_int_equal(bundled.is_vouched, some[at].is_vouched);
        assert_int_equal(body.bytes, strlen(bodies[at]));
        assert_memory_equal(text + body.at, bodies[at], body.bytes);
    }
    assert_int_equal(rest.bytes, 0);
    assert_false(bundle_next((uint8_t *)text, &rest, &bundled, &body));
}

// What was taken back stays where it is, and the others are as they were.
static void what_is_void_has_no_number(void **state) {
    char text[256];
    (void)state;
    struct span rest = {0, write_some(text)}, body;
    struct bundled bundled;
    memset(text, 0, 8); // as core/send/parcel.h has it
    assert_true(bundle_next((uint8_t *)text, &rest, &bundled, &body));
    assert_true(bundled.number == 0);
    assert_int_equal(body.bytes, strlen(bodies[0]));
    assert_true(bundle_next((uint8_t *)text, &rest, &bundled, &body));
    assert_true(bundled.number == some[1].number);
}

// As --request-timeout has it where a request says none.
static void a_time_that_is_too_long_is_not_said_and_spoils_nothing(void **state) {
    static const uint32_t times[] = {3600 * 1000 + 1, 1 << 24, 6 * 3600 * 1000, 24 * 3600 * 1000, UINT32_MAX};
    char text[BUNDLE_HEAD_BYTES + 1];
    (void)state;
    for (unsigned at = 0; at < sizeof times / sizeof *times; at++) {
        struct bundled bundled = {.number = 1, .time_ms = times[at], .level = GOVERNANCE_SUPERVISED};
        struct span rest = {0, sizeof text}, body;
        bundle_write_head(text, &bundled, 1);
        assert_true(bundle_next((uint8_t *)text, &rest, &bundled, &body));
        assert_int_equal(bundled.time_ms, 0);
        assert_int_equal(bundled.level, GOVERNANCE_SUPERVISED);
        assert_false(bundled.is_vouched);
    }
}

// A time that no request may have is none, and bits that mean nothing mean nothing.
static void what_can_not_be_said_is_not_heard(void **state) {
    uint8_t text[BUNDLE_HEAD_BYTES + 1] = {
        [0] = 1, [8] = 1, [12] = 0xff, [13] = 0xff, [14] = 0xff, [15] = 0xf8};
    struct span rest = {0, sizeof text}, body;
    struct bundled bundled;
    (void)state;
    assert_true(bundle_next(text, &rest, &bundled, &body));
    assert_int_equal(bundled.time_ms, 0);
    assert_int_equal(bundled.level, GOVERNANCE_AUTONOMOUS);
    assert_false(bundled.is_vouched);
}

static void try(const char *good, uint32_t bytes, unsigned spoilt) {
    uint8_t *copy = malloc(bytes + 1), *text = copy + 1; // its end is the memory's
    struct span rest = {0, bytes}, body;
    struct bundled bundled;
    assert_non_null(copy);
    memcpy(text, good, bytes);
    if (spoilt < bytes)
        text[spoilt] ^= 7;
    for (unsigned left = SOME + 1; bundle_next(text, &rest, &bundled, &body); left--) {
        assert_true(left > 0 && body.bytes > 0 && body.at + body.bytes <= bytes);
        assert_true(rest.at + rest.bytes == bytes);
    }
    free(copy);
}

// Of whatever is cut off or spoilt nothing is read past its end, and what is read lies within.
static void other_bytes_are_none(void **state) {
    char good[256];
    uint32_t all = write_some(good);
    struct span rest, body;
    struct bundled bundled;
    (void)state;
    for (uint32_t bytes = 0; bytes <= all; bytes++)
        for (unsigned spoilt = 0; spoilt <= bytes; spoilt++)
            try(good, bytes, spoilt);
    for (uint32_t bytes = 0; bytes <= BUNDLE_HEAD_BYTES; bytes++) {
        rest = (struct span){0, bytes};
        assert_false(bundle_next((uint8_t *)good, &rest, &bundled, &body));
        assert_int_equal(rest.bytes, bytes);
    }
    static const struct {
        unsigned at;
        uint8_t byte;
    } faults[] = {{8, 0}, {8, 200}, {11, 0xff}, {BUNDLE_HEAD_BYTES + 1, '\n'}, {BUNDLE_HEAD_BYTES + 2, '\r'}};
    for (unsigned at = 0; at < sizeof faults / sizeof *faults; at++) {
        write_some(good);
        good[faults[at].at] = (char)faults[at].byte;
        rest = (struct span){0, all};
        assert_false(bundle_next((uint8_t *)good, &rest, &bundled, &body));
        assert_int_equal(rest.bytes, all);
    }
}

static void numbers_are_read_until_none_is_whole(void **state) {
    char text[2 * BUNDLE_NUMBER_BYTES + 1] = {0};
    struct span rest = {0, sizeof text};
    uint64_t number;
    (void)state;
    bundle_write_number(text, 7);
    bundle_write_number(text + BUNDLE_NUMBER_BYTES, UINT64_MAX - 1);
    assert_true(bundle_next_number((uint8_t *)text, &rest, &number));
    assert_true(number == 7);
    assert_true(bundle_next_number((uint8_t *)text, &rest, &number));
    assert_true(number == UINT64_MAX - 1);
    assert_false(bundle_next_number((uint8_t *)text, &rest, &number));
    assert_int_equal(rest.bytes, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_void_has_no_number),
        cmocka_unit_test(a_time_that_is_too_long_is_not_said_and_spoils_nothing),
        cmocka_unit_test(what_can_not_be_said_is_not_heard),
        cmocka_unit_test(other_bytes_are_none),
        cmocka_unit_test(numbers_are_read_until_none_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
