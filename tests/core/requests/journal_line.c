// Lines of the journal: each is one JSON object and one line, whatever goes in.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/limits.h"
#include "core/base/memory.h"
#include "core/json/json.h"
#include "core/requests/journal_line.h"

static void is_one_line(const struct text *line) {
    static uint8_t copy[4096 + BUFFER_SLACK_BYTES];
    assert_false(line->failed);
    assert_true(line->length < 4096 && line->bytes[line->length - 1] == '\n');
    assert_ptr_equal(memchr(line->bytes, '\n', line->length), line->bytes + line->length - 1);
    assert_null(memchr(line->bytes, '\r', line->length));
    memcpy(copy, line->bytes, line->length - 1);
    assert_true(json_grammar_valid(copy, (uint32_t)line->length - 1));
}

static void members_follow_each_other(void **state) {
    (void)state;
    static const char expected[] =
        "{\"time\":\"1970-01-01T00:00:01.002Z\",\"kind\":\"audit\",\"target\":null,"
        "\"method\":\"a\\\"b\",\"code\":-32011,\"entry\":{ \"a\" :  [1,  2]}}\n";
    static const char entry[] = "{ \"a\" :\r\n[1,\n 2]}";
    struct text line;
    text_init(&line);
    journal_line_begin(&line, 1002, "audit");
    journal_line_string(&line, "target", NULL, 0);
    journal_line_string(&line, "method", "a\"b", 3);
    journal_line_number(&line, "code", -32011);
    journal_line_json(&line, "entry", entry, sizeof entry - 1);
    journal_line_end(&line);
    assert_int_equal(line.length, sizeof expected - 1);
    assert_memory_equal(line.bytes, expected, line.length);
    is_one_line(&line);
    text_deinit(&line);
}

static void no_string_ends_its_line(void **state) {
    (void)state;
    static const char forged[] = "x\"}\n{\"kind\":\"audit\"}\r\n\\";
    for (size_t bytes = 0; bytes <= sizeof forged; bytes++) {
        struct text line;
        text_init(&line);
        journal_line_begin(&line, 0, "refusal");
        journal_line_string(&line, "method", forged, bytes);
        journal_line_end(&line);
        is_one_line(&line);
        text_deinit(&line);
    }
}

// Wherever it stands, and however long what stands around it is.
static void a_break_becomes_a_space(void **state) {
    (void)state;
    char entry[150], expected[sizeof entry];
    for (size_t at = 1; at < sizeof entry - 1; at++) {
        struct text line;
        memset(entry, ' ', sizeof entry);
        entry[0] = '[', entry[sizeof entry - 1] = ']';
        memcpy(expected, entry, sizeof entry);
        entry[at] = at % 2 ? '\r' : '\n';
        text_init(&line);
        journal_line_begin(&line, 0, "audit");
        journal_line_json(&line, "entry", entry, sizeof entry);
        assert_memory_equal(line.bytes + line.length - sizeof entry, expected, sizeof entry);
        journal_line_end(&line);
        is_one_line(&line);
        text_deinit(&line);
    }
}

static void without_memory_it_fails(void **state) {
    (void)state;
    for (uint64_t after = 0; after < 2; after++) {
        char big[1000] = {0};
        struct text line;
        text_init(&line);
        memory_fail_after(after);
        journal_line_begin(&line, 0, "audit");
        journal_line_json(&line, "entry", big, sizeof big);
        journal_line_end(&line);
        memory_fail_after(UINT64_MAX);
        assert_true(line.failed);
        text_deinit(&line);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_follow_each_other),
        cmocka_unit_test(no_string_ends_its_line),
        cmocka_unit_test(a_break_becomes_a_space),
        cmocka_unit_test(without_memory_it_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
