// Lines of a log, whatever bytes come and however they are cut.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/child/log_line.h"

static char logged[1 << 20];
static size_t logged_bytes;

static void sink(void *context, const char *text, size_t bytes) {
    (void)context;
    memcpy(logged + logged_bytes, text, bytes);
    logged_bytes += bytes;
    logged[logged_bytes++] = '|';
    logged[logged_bytes] = '\0';
}

static void add(struct log_lines *lines, const char *text, size_t at_a_time, uint64_t now_ms) {
    for (size_t left = strlen(text); left > 0;) {
        size_t part = left < at_a_time ? left : at_a_time;
        log_lines_add(lines, (const uint8_t *)text, part, now_ms, sink, NULL);
        text += part;
        left -= part;
    }
}

static void lines_however_they_are_cut(void **state) {
    (void)state;
    for (size_t at_a_time = 1; at_a_time < 20; at_a_time++) {
        struct log_lines lines = {0};
        logged_bytes = 0;
        add(&lines, "one\n\n\r\ntwo\r\nth\xc3\xa9\x1b[2J\x07\nno end", at_a_time, 0);
        assert_string_equal(logged, "one|two|th\xc3\xa9\\x1b[2J\\x07|");
        log_lines_end(&lines, 0, sink, NULL);
        assert_string_equal(logged, "one|two|th\xc3\xa9\\x1b[2J\\x07|no end|");
    }
}

static void what_is_escaped(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *text;
    } table[] = {
        {"plain \\ text", "plain \\ text"},
        {"\t\x7f", "\\x09\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"},                                  // a control character of two bytes
        {"\xc2\xa0", "\xc2\xa0"},                                    // the first that is none
        {"\xe2\x80\xae", "\\xe2\\x80\\xae"},                         // turns the order of what follows
        {"\xe2\x80\x8b\xe2\x80\xa7", "\\xe2\\x80\\x8b\xe2\x80\xa7"}, // has no width; a point that has
        {"\xf3\xa0\x81\x81", "\\xf3\\xa0\\x81\\x81"},                // a tag, which nobody sees
        {"\xc0\xaf", "\\xc0\\xaf"},                                  // too long for what it means
        {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, // half a pair
        {"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"},
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
        {"\xe2\x82", "\\xe2\\x82"}, // cut
        {"\xff", "\\xff"},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        char out[64] = "";
        size_t bytes = strlen(table[row].bytes);
        out[log_escape((const uint8_t *)table[row].bytes, bytes, out)] = '\0';
        assert_string_equal(out, table[row].text);
    }
}

static void a_long_line_is_several(void **state) {
    (void)state;
    struct log_lines lines = {0};
    char text[2 * LOG_LINE_BYTES + 3];
    memset(text, 'x', sizeof text);
    text[2 * LOG_LINE_BYTES + 1] = '\n';
    text[2 * LOG_LINE_BYTES + 2] = '\0';
    logged_bytes = 0;
    add(&lines, text, sizeof text, 0);
    assert_int_equal(logged_bytes, 2 * LOG_LINE_BYTES + 1 + 3);
    assert_string_equal(logged + 2 * LOG_LINE_BYTES + 2, "x|");
}

static void a_second_is_bounded(void **state) {
    (void)state;
    struct log_lines lines = {0};
    char line[101];
    memset(line, 'x', 100);
    line[99] = '\n';
    line[100] = '\0';
    logged_bytes = 0;
    for (unsigned count = 0; count < 2000; count++)
        add(&lines, line, 100, 5999);
    assert_in_range(logged_bytes, LOG_BYTES_A_SECOND - 200, LOG_BYTES_A_SECOND + 2000);
    size_t before = logged_bytes;
    add(&lines, "next\n", 5, 6000);
    assert_memory_equal(logged + before, "(", 1);
    assert_non_null(strstr(logged + before, "bytes more weren't logged)|next|"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_however_they_are_cut), cmocka_unit_test(what_is_escaped),
        cmocka_unit_test(a_long_line_is_several), cmocka_unit_test(a_second_is_bounded)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
