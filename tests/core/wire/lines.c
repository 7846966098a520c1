// Lines: each text is laid before the scanner whole, byte by byte and in every two parts, right before an
// unreadable page. Two more limits are tried: one that its bodies just satisfy, and one that they don't.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/wire/lines.h"
#include "tests/core/base/placed.h"

static enum unit_result go_on(struct unit *unit, const char *text, size_t bytes,
                              const struct unit_limits *limits) {
    memcpy(placed_end - bytes, text, bytes);
    return lines_scan(unit, placed_end - bytes, bytes, limits);
}

// Takes the units of a text, of which the first `first` bytes come before the rest; the bodies' lines with a
// line feed each go to `out`. Returns how the last unit ended.
static enum unit_result take_all(const char *text, size_t bytes, size_t first, uint32_t body_max, char *out) {
    struct unit_limits limits = {.header_bytes_max = 1, .body_bytes_max = body_max};
    struct unit unit;
    enum unit_result result = UNIT_OPEN;
    size_t at = 0, come = first;
    unit_begin(&unit);
    while (at < bytes) {
        result = go_on(&unit, text + at, come - at, &limits);
        assert_int_not_equal(result, UNIT_PARTIAL);
        if (result == UNIT_BAD)
            break;
        if (result == UNIT_WHOLE) {
            assert_true(unit.bytes > 0 && unit.bytes <= come - at && unit.body_at == 0);
            memcpy(out, text + at, unit.body_bytes);
            out += unit.body_bytes;
            *out++ = unit.body_bytes ? '\n' : ';';
            at += unit.bytes;
            unit_begin(&unit);
        } else if (come == bytes) {
            break;
        }
        if (result == UNIT_OPEN || at == come)
            come = first == 1 ? come + 1 : bytes;
    }
    *out = 0;
    return result;
}

static void assert_bodies(const char *text, uint32_t body_max, enum unit_result expected,
                          const char *bodies) {
    char out[256];
    size_t bytes = strlen(text);
    for (size_t first = 1; first <= bytes; first++) {
        assert_int_equal(take_all(text, bytes, first, body_max, out), expected);
        assert_string_equal(out, bodies);
    }
}

static void finds_lines(void **state) {
    (void)state;
    static const struct {
        const char *text;
        enum unit_result result;
        const char *bodies; // `;` stands for a unit with nothing in it
    } cases[] = {
        {"{}\n", UNIT_WHOLE, "{}\n"},
        {"{}\r\n", UNIT_WHOLE, "{}\n"},
        {"{}\n{}", UNIT_OPEN, "{}\n"},
        {"{}", UNIT_OPEN, ""},
        {"{}\r", UNIT_OPEN, ""},
        {"\n", UNIT_WHOLE, ";"},
        {"\r\n", UNIT_WHOLE, ";"},
        {" \t \r\n\n{}\n\n", UNIT_WHOLE, ";;{}\n;"},
        {" {} \n", UNIT_WHOLE, " {} \n"},
        {"{}\r\r\n", UNIT_WHOLE, "{}\r\n"},
        {"{\r}\n", UNIT_WHOLE, "{\r}\n"},
        {"Content-Length: 2\r\n\r\n{}", UNIT_OPEN, "Content-Length: 2\n;"},
        {"[1]\n\"\\n\"\nx\n", UNIT_WHOLE, "[1]\n\"\\n\"\nx\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_bodies(cases[i].text, 64, cases[i].result, cases[i].bodies);
}

static void holds_the_limit(void **state) {
    (void)state;
    assert_bodies("1234\n", 4, UNIT_WHOLE, "1234\n");
    assert_bodies("1234\r\n", 4, UNIT_WHOLE, "1234\n");
    assert_bodies("1234", 4, UNIT_OPEN, "");
    assert_bodies("1234\r", 4, UNIT_OPEN, "");
    assert_bodies("12345", 4, UNIT_BAD, "");
    assert_bodies("12345\n", 4, UNIT_BAD, "");
    assert_bodies("1234\r\r\n", 4, UNIT_BAD, "");
    assert_bodies("1234\r5", 4, UNIT_BAD, "");
    assert_bodies("     \n", 4, UNIT_BAD, "");
    assert_bodies("1\n12345\n", 4, UNIT_BAD, "1\n");
}

static void a_fault_tells_the_limit_and_is_for_ever(void **state) {
    (void)state;
    struct unit_limits limits = {.header_bytes_max = 1, .body_bytes_max = 4};
    struct unit unit;
    unit_begin(&unit);
    assert_int_equal(go_on(&unit, "12345", 5, &limits), UNIT_BAD);
    assert_int_equal(unit.fault, UNIT_FAULT_BODY_TOO_LARGE);
    assert_int_equal(unit.fault_at, 4);
    assert_int_equal(go_on(&unit, "12345\n", 6, &limits), UNIT_BAD);
    assert_false(unit.length_known);
}

static void a_request_line_of_http_is_refused(void **state) {
    (void)state;
    static const char *const bad[] = {"GET / HTTP/1.1\r\n", "POST /x HTTP/1.0\n", "A B HTTP/2.0\r\n"};
    static const char *const good[] = {"HTTP/1.1\n", "GET /\n", "\"GET / HTTP/1.1\n", "get / HTTP/1.1\n"};
    struct unit_limits limits = {.header_bytes_max = 1, .body_bytes_max = 64};
    struct unit unit;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unit_begin(&unit);
        assert_int_equal(go_on(&unit, bad[i], strlen(bad[i]), &limits), UNIT_BAD);
        assert_int_equal(unit.fault, UNIT_FAULT_HTTP);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        unit_begin(&unit);
        assert_int_equal(go_on(&unit, good[i], strlen(good[i]), &limits), UNIT_WHOLE);
    }
}

// Bytes that are taken in before the scanner looks are enough for it to tell.
static void tells_at_the_open_limit(void **state) {
    (void)state;
    struct unit_limits limits = {.header_bytes_max = 1, .body_bytes_max = 4};
    static const char *const texts[] = {"1234\r\n", "1234\rx", "12345x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct unit unit;
        unit_begin(&unit);
        assert_int_not_equal(go_on(&unit, texts[i], lines_open_max(&limits), &limits), UNIT_OPEN);
    }
}

static void the_last_line_needs_no_end(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint32_t body_bytes;
    } cases[] = {{"{}", 2}, {"{}\r", 2}, {" ", 0}, {"\r", 0}, {" {} ", 4}};
    struct unit_limits limits = {.header_bytes_max = 1, .body_bytes_max = 64};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct unit unit;
        unit_begin(&unit);
        size_t bytes = strlen(cases[i].text);
        assert_int_equal(go_on(&unit, cases[i].text, bytes, &limits), UNIT_OPEN);
        assert_int_equal(lines_end(&unit, placed_end - bytes, bytes), UNIT_WHOLE);
        assert_int_equal(unit.body_bytes, cases[i].body_bytes);
        assert_int_equal(unit.bytes, bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_lines),
        cmocka_unit_test(holds_the_limit),
        cmocka_unit_test(a_fault_tells_the_limit_and_is_for_ever),
        cmocka_unit_test(tells_at_the_open_limit),
        cmocka_unit_test(a_request_line_of_http_is_refused),
        cmocka_unit_test(the_last_line_needs_no_end),
    };
    return cmocka_run_group_tests(tests, placed_map, placed_unmap);
}
