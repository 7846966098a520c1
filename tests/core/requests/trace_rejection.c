// How many spans an answer of OTLP rejects, whatever parts it comes in, and however long it is.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
// cmocka wants these before it
#include <cmocka.h>

#include "core/requests/trace_rejection.h"

static void read_in_parts(const char *text, uint32_t part, bool is_known, uint64_t count) {
    struct trace_rejection rejection = {0};
    uint32_t bytes = (uint32_t)strlen(text);
    bool known = false;
    for (uint32_t at = 0; at < bytes; at += part)
        known = trace_rejection_read(&rejection, (const uint8_t *)text + at,
                                     bytes - at < part ? bytes - at : part);
    assert_int_equal(known, is_known);
    assert_int_equal(rejection.count, count);
}

static void the_count_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_known;
        uint64_t count;
    } rows[] = {
        {"{\"partialSuccess\":{\"rejectedSpans\":\"2\",\"errorMessage\":\"no\"}}", true, 2},
        {"{\"partialSuccess\":{\"rejectedSpans\":2}}", true, 2},
        {" \r\n\t{ \"partialSuccess\" : { \"rejectedSpans\" : 2.0 } } ", true, 2},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"2\"", true, 2}, // and the rest doesn't come
        {"{\"partialSuccess\":{\"errorMessage\":\"\\\"}{\\\\\",\"rejectedSpans\":7}}", true, 7},
        {"{\"more\":[{\"partialSuccess\":{\"rejectedSpans\":1}},\"]\"],\"partialSuccess\":{\"rejectedSpans\":"
         "3}}",
         true, 3},
        {"{\"more\":null,\"and\":-1.5,\"partialSuccess\":{\"more\":{\"rejectedSpans\":9},\"rejectedSpans\":3}"
         "}",
         true, 3},
        {"{\"partial\\u0053uccess\":{\"rejected\\u0053pans\":\"\\u0033\"}}", true, 3},
        {"{\"rejectedSpans\":3}", true, 0},
        {"{\"partialSuccess\":{}}", true, 0},
        {"{\"partialSuccess\":null}", true, 0},
        {"{\"partialSuccess\":[{\"rejectedSpans\":3}]}", true, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"-1\"}}", true, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":-1}}", true, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"\"}}", true, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":\"99999999999999999999999\"}}", true, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":true}}", true, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":[3]}}", true, 0},
        {"{}", true, 0},
        {"[]", true, 0},
        {"no JSON", true, 0},
        {"{no JSON", true, 0},
        {"{\"a\" 1", true, 0},
        {"}", true, 0},
        {"{]", true, 0},
        {"", false, 0},
        {"  ", false, 0},
        {"{\"partialSuccess\":{\"rejectedSpans\":2", false, 0},
        {"{\"partialSuccess\":{\"errorMessage\":\"no", false, 0},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++)
        for (uint32_t part = 1; part < 80; part++)
            read_in_parts(rows[at].text, part, rows[at].is_known, rows[at].count);
}

static void repeat(struct trace_rejection *rejection, const char *part, uint32_t times) {
    for (uint32_t at = 0; at < times; at++)
        assert_false(trace_rejection_read(rejection, (const uint8_t *)part, (uint32_t)strlen(part)));
}

static void what_lies_before_may_be_of_any_size(void **state) {
    (void)state;
    struct trace_rejection rejection = {0};
    repeat(&rejection, " ", 100000);
    repeat(&rejection, "{\"", 1);
    repeat(&rejection, "\\\"key", 100000); // a key
    repeat(&rejection, "\":", 1);
    repeat(&rejection, "[{\"a\":", 100000);
    repeat(&rejection, "\"text\"", 1);
    repeat(&rejection, "}]", 100000);
    repeat(&rejection, ",\"partialSuccess\":{\"n\":", 1);
    repeat(&rejection, "1234567890", 100000);
    repeat(&rejection, ",\"errorMessage\":\"", 1);
    repeat(&rejection, "} \\\\\\\" {", 100000);
    repeat(&rejection, "\",\"rejectedSpans\":", 1);
    assert_true(trace_rejection_read(&rejection, (const uint8_t *)"\"5\"", 3));
    assert_int_equal(rejection.count, 5);
    assert_true(trace_rejection_read(&rejection, (const uint8_t *)"\"6\"", 3));
    assert_int_equal(rejection.count, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_count_is_found),
        cmocka_unit_test(what_lies_before_may_be_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
