// Lines of the log: each format, whatever text stands in a field, and however little room there is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/log/log_event.h"

static char line[LOG_EVENT_BYTES + 1];

static struct log_field text(const char *string) {
    return (struct log_field){.text = string, .bytes = strlen(string)};
}

static const char *made(enum log_event event, enum log_format format, bool is_journal, const char *message,
                        const struct log_field *fields, uint32_t count) {
    const struct log_record record = {event, 1795812345678, fields, count, 0, message, strlen(message)};
    size_t bytes = log_event_format(&record, format, is_journal, line, LOG_EVENT_BYTES);
    line[bytes] = '\0';
    return line;
}

static void each_format_has_the_same(void **state) {
    (void)state;
    const struct log_field fields[] = {text("worker"), {.number = -7, .is_number = true}};
    const char *message = "child worker: ended";
    assert_string_equal(made(LOG_CHILD_ENDED, LOG_FORMAT_LOGFMT, false, message, fields, 2),
                        "time=2026-11-27T20:45:45.678Z level=info event=child_ended child=worker status=-7 "
                        "message=\"child worker: ended\"\n");
    assert_string_equal(made(LOG_CHILD_ENDED, LOG_FORMAT_JSON, false, message, fields, 2),
                        "{\"time\":\"2026-11-27T20:45:45.678Z\",\"level\":\"info\",\"event\":\"child_ended\","
                        "\"child\":\"worker\",\"status\":-7,\"message\":\"child worker: ended\"}\n");
    assert_string_equal(made(LOG_CHILD_DOWN, LOG_FORMAT_TEXT, false, message, fields, 1),
                        "patchbayd: child worker: ended\n");
}

static void text_is_as_it_was(void **state) {
    (void)state;
    const struct log_field uri = text("tcp://127.0.0.1:1");
    assert_string_equal(made(LOG_LISTENING, LOG_FORMAT_TEXT, false, "listening tcp://127.0.0.1:1", &uri, 1),
                        "listening tcp://127.0.0.1:1\n");
    assert_string_equal(made(LOG_READY, LOG_FORMAT_TEXT, false, "ready", NULL, 0), "");
    assert_string_equal(made(LOG_RELOADED, LOG_FORMAT_TEXT, false, "done", NULL, 0), "patchbayd: done\n");
}

static void the_journal_reads_the_level(void **state) {
    (void)state;
    const struct log_field unknown[3] = {{.text = NULL}};
    assert_string_equal(made(LOG_CONFIG_FAULT, LOG_FORMAT_TEXT, true, "a: b", unknown, 3), "<3>a: b\n");
    assert_string_equal(made(LOG_NOTICE, LOG_FORMAT_TEXT, true, "a", NULL, 0), "<4>patchbayd: a\n");
    assert_string_equal(made(LOG_RELOADED, LOG_FORMAT_TEXT, true, "a", NULL, 0), "<6>patchbayd: a\n");
    assert_string_equal(made(LOG_CONNECTION_OPENED, LOG_FORMAT_TEXT, true, "a", unknown, 2),
                        "<7>patchbayd: a\n");
    assert_memory_equal(made(LOG_READY, LOG_FORMAT_LOGFMT, true, "a", NULL, 0), "<6>time=", 8);
    assert_memory_equal(made(LOG_READY, LOG_FORMAT_JSON, true, "a", NULL, 0), "<6>{\"time\":", 11);
}

static void a_value_keeps_to_itself(void **state) {
    (void)state;
    static const struct {
        const char *value, *logfmt, *json;
    } table[] = {
        {"a{", "a{", "a{"},
        {"a>", "a>", "a>"},
        {"", "\"\"", ""},
        {"a b", "\"a b\"", "a b"},
        {"a=b", "\"a=b\"", "a=b"},
        {"a\"b", "\"a\\\"b\"", "a\\\"b"},
        {"a\\b", "\"a\\\\b\"", "a\\\\b"},
        {"a\nevent=ready", "\"a\\\\x0aevent=ready\"", "a\\\\x0aevent=ready"},
        {"\x1b[2J\r", "\"\\\\x1b[2J\\\\x0d\"", "\\\\x1b[2J\\\\x0d"},
        {"\xff\xc3\xa9", "\"\\\\xff\xc3\xa9\"", "\\\\xff\xc3\xa9"},
        {"\x7f", "\"\\\\x7f\"", "\\\\x7f"},
    };
    for (size_t at = 0; at < sizeof table / sizeof *table; at++) {
        char expected[128];
        const struct log_field field = text(table[at].value);
        snprintf(expected, sizeof expected, " event=tap_started user=%s message=m\n", table[at].logfmt);
        assert_string_equal(strstr(made(LOG_TAP_STARTED, LOG_FORMAT_LOGFMT, false, "m", &field, 1), " event"),
                            expected);
        snprintf(expected, sizeof expected, ",\"user\":\"%s\",\"message\":\"m\"}\n", table[at].json);
        assert_string_equal(strstr(made(LOG_TAP_STARTED, LOG_FORMAT_JSON, false, "m", &field, 1), ",\"user"),
                            expected);
    }
}

static void what_is_not_known_is_left_out(void **state) {
    (void)state;
    const struct log_field fields[] = {{.text = NULL}, {.text = NULL}, text("io")};
    assert_non_null(strstr(made(LOG_CONFIG_FAULT, LOG_FORMAT_LOGFMT, false, "m", fields, 3),
                           " event=config_fault key=io message=m\n"));
    const struct log_field unknown = {.text = NULL};
    const struct log_record record = {LOG_CREDENTIAL_REFUSED, 0, &unknown, 1, 12, "m", 1};
    size_t bytes = log_event_format(&record, LOG_FORMAT_JSON, false, line, LOG_EVENT_BYTES);
    line[bytes] = '\0';
    assert_string_equal(line, "{\"time\":\"1970-01-01T00:00:00.000Z\",\"level\":\"warning\","
                              "\"event\":\"credential_refused\",\"suppressed\":12,\"message\":\"m\"}\n");
}

// Each event, each format, texts that grow to five bytes a byte, in little room and in all of it: a line ends in what
// ends one, and no character is cut.
static void no_line_is_longer_than_it_may(void **state) {
    (void)state;
    static const char *const units[] = {"a", "\"", "\x1b", "\\", "\xf0\x9f\x98\x80", "\xff"};
    static char long_text[20000];
    for (size_t unit = 0; unit < sizeof units / sizeof *units; unit++) {
        size_t length = strlen(units[unit]);
        for (size_t at = 0; at + length <= sizeof long_text; at += length)
            memcpy(long_text + at, units[unit], length);
        const struct log_field all[LOG_FIELDS_MAX] = {
            [0 ... LOG_FIELDS_MAX - 1] = {.text = long_text, .bytes = sizeof long_text / 4 * 4}};
        for (enum log_event event = 0; event < LOG_EVENTS_COUNT; event++) {
            uint32_t count = 0;
            while (log_kind_of(event)->fields[count])
                count++;
            for (size_t turn = 0; turn < 2 * LOG_FORMATS_COUNT; turn++) {
                enum log_format format = (enum log_format)(turn / 2);
                size_t capacity = turn % 2 ? LOG_EVENT_BYTES : 1024;
                const struct log_record record = {
                    event, 5, all, count, 0, long_text, sizeof long_text / 4 * 4};
                size_t bytes = log_event_format(&record, format, true, line, capacity);
                assert_true(bytes <= capacity);
                if (bytes == 0)
                    continue;
                static const char *const ends[] = {"...\n", "...\"\n", "...\"}\n"};
                const char *end = ends[format];
                if (format == LOG_FORMAT_LOGFMT && unit == 0)
                    end = "...\n"; // it has no quotes
                assert_memory_equal(line + bytes - strlen(end), end, strlen(end));
                for (size_t at = 0, one; at + 1 < bytes; at += one) {
                    one = log_printable((const uint8_t *)line + at, bytes - at);
                    assert_int_not_equal(one, 0);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_format_has_the_same),      cmocka_unit_test(text_is_as_it_was),
        cmocka_unit_test(the_journal_reads_the_level),   cmocka_unit_test(a_value_keeps_to_itself),
        cmocka_unit_test(what_is_not_known_is_left_out), cmocka_unit_test(no_line_is_longer_than_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
