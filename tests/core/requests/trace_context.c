// Contexts of traces: what W3C calls valid, what isn't, and which of two places counts.
#include "core/requests/trace_context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
// cmocka wants these before it
#include <cmocka.h>

#define TRACE  "4bf92f3577b34da6a3ce929d0e0e4736"
#define PARENT "00f067aa0ba902b7"
#define GOOD   "00-" TRACE "-" PARENT "-01"
#define CHILD  "00-" TRACE "-cafe0000000000af-01"
#define OTHER  "00-11111111111111111111111111111111-2222222222222222-00"

static void values_are_judged(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool valid, sampled;
    } rows[] = {
        {GOOD, true, true},
        {"00-" TRACE "-" PARENT "-00", true, false},
        {"00-" TRACE "-" PARENT "-02", true, false},
        {"00-" TRACE "-" PARENT "-ff", true, true},
        {"01-" TRACE "-" PARENT "-01", true, true},
        {"cc-" TRACE "-" PARENT "-01-what-the-future", true, true},
        {"cc-" TRACE "-" PARENT "-01.what", false, false},
        {"00-" TRACE "-" PARENT "-01-more", false, false},
        {"ff-" TRACE "-" PARENT "-01", false, false},
        {"00-00000000000000000000000000000000-" PARENT "-01", false, false},
        {"00-" TRACE "-0000000000000000-01", false, false},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" PARENT "-01", false, false},
        {"00-" TRACE "-" PARENT "-0", false, false},
        {"00-" TRACE "-" PARENT "-0g", false, false},
        {"00-" TRACE "-" PARENT "_01", false, false},
        {"0-" TRACE "-" PARENT "-01x", false, false},
        {"", false, false},
        {"00", false, false},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        struct trace_context context;
        assert_int_equal(trace_context_read(rows[at].text, strlen(rows[at].text), &context), rows[at].valid);
        if (!rows[at].valid)
            continue;
        assert_memory_equal(context.trace, TRACE, TRACE_ID_DIGITS);
        assert_memory_equal(context.parent, PARENT, TRACE_PARENT_DIGITS);
        assert_int_equal(context.sampled, rows[at].sampled);
    }
}

static void the_member_counts_before_the_field(void **state) {
    (void)state;
    static const struct {
        const char *meta, *block;
        const char *trace; // NULL: none
    } rows[] = {
        {"{\"traceparent\":\"" GOOD "\"}", "\r\n", TRACE},
        {"{\"a\":1,\"trace\\u0070arent\":\"" GOOD "\"}", "Traceparent: " OTHER "\r\n\r\n", TRACE},
        {"{\"a\":1}", "TRACEPARENT:  " GOOD " \r\nA: b\r\n\r\n", TRACE},
        {"", "A: b\r\ntraceparent: " GOOD "\r\n\r\n", TRACE},
        {"{\"traceparent\":7}", "traceparent: " GOOD "\r\n\r\n", NULL},
        {"{\"traceparent\":\"" GOOD "\",\"traceparent\":\"" GOOD "\"}", "traceparent: " GOOD "\r\n\r\n",
         NULL},
        {"", "traceparent: " GOOD "\r\ntraceparent: " GOOD "\r\n\r\n", NULL},
        {"", "traceparent: x\r\n\r\n", NULL},
        {"[]", "\r\n", NULL},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        struct trace_context context;
        uint8_t text[512] = {0}, block[256] = {0};
        uint32_t bytes = (uint32_t)strlen(rows[at].meta), block_bytes = (uint32_t)strlen(rows[at].block);
        memcpy(text, rows[at].meta, bytes);
        memcpy(block, rows[at].block, block_bytes);
        bool found = trace_context_find(text, (struct span){0, bytes}, block, block_bytes, &context);
        assert_int_equal(found, rows[at].trace != NULL);
        if (found)
            assert_memory_equal(context.trace, rows[at].trace, TRACE_ID_DIGITS);
    }
}

// A value of an unknown version may have any length, in a member as in a field. A known version ends behind its flags.
static void a_long_value_is_judged_alike_in_both_places(void **state) {
    (void)state;
    static const struct {
        const char *version, *behind;
        bool valid;
    } rows[] = {{"cc", "-", true},
                {"cc", "-\u00e4", true},
                {"cc", ".", false},
                {"00", "-", false},
                {"00", "\u00e4", false}};
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        struct trace_context member, field;
        char meta[1024] = {0}, block[1024] = {0}, more[601];
        memset(more, 'm', sizeof more - 1);
        more[sizeof more - 1] = 0;
        snprintf(meta, sizeof meta, "{\"traceparent\":\"%s-" TRACE "-" PARENT "-01%s%s\"}", rows[at].version,
                 rows[at].behind, more);
        snprintf(block, sizeof block, "traceparent: %s-" TRACE "-" PARENT "-01%s%s\r\n\r\n", rows[at].version,
                 rows[at].behind, more);
        struct span whole = {0, (uint32_t)strlen(meta)};
        const uint8_t *text = (const uint8_t *)meta, *lines = (const uint8_t *)block;
        assert_int_equal(trace_context_find(text, whole, lines, 0, &member), rows[at].valid);
        assert_int_equal(trace_context_find(text, (struct span){0}, lines, (uint32_t)strlen(block), &field),
                         rows[at].valid);
    }
}

// A context has a place in the body and in the block. Another parent is written there, however the digits are, and the
// former parent is written back byte for byte.
static void a_context_has_places(void **state) {
    (void)state;
    static const struct {
        const char *meta, *block;
        const char *new_meta, *new_block; // as they are with another parent
    } rows[] = {
        {"{\"traceparent\":\"" GOOD "\"}", "\r\n", "{\"traceparent\":\"" CHILD "\"}", "\r\n"},
        {"{\"a\":1}", "A: b\r\ntraceparent: " GOOD "\r\n\r\n", "{\"a\":1}",
         "A: b\r\ntraceparent: " CHILD "\r\n\r\n"},
        {"{\"traceparent\": \"" GOOD "\"}", "traceparent:" GOOD " \r\n\r\n",
         "{\"traceparent\": \"" CHILD "\"}", "traceparent:" CHILD " \r\n\r\n"},
        {"{\"traceparent\":\"" GOOD "\"}", "traceparent: " OTHER "\r\n\r\n",
         "{\"traceparent\":\"" CHILD "\"}", "traceparent: " OTHER "\r\n\r\n"},
        {"{\"traceparent\":\"\\u0030\\u0030\\u002d\\u0034bf92f3577b34da6a3ce929d0e0e473\\u0036\\u002D" PARENT
         "-01\"}",
         "traceparent: " GOOD "\r\n\r\n",
         "{\"traceparent\":\"\\u0030\\u0030\\u002d\\u0034bf92f3577b34da6a3ce929d0e0e473\\u0036\\u002D"
         "cafe0000000000af-01\"}",
         "traceparent: " CHILD "\r\n\r\n"},
        {"{\"traceparent\":\"00-" TRACE "-\\u0030\\u0030f067aa0ba902b\\u0037-\\u00301\"}", "\r\n",
         "{\"traceparent\":\"00-" TRACE "-\\u0063\\u0061fe0000000000a\\u0066-\\u00301\"}", "\r\n"},
        {"{\"traceparent\":\"cc-" TRACE "-" PARENT "-01-\\u0041\"}", "\r\n",
         "{\"traceparent\":\"cc-" TRACE "-cafe0000000000af-01-\\u0041\"}", "\r\n"},
        {"{}", "\r\n", "{}", "\r\n"},
    };
    struct trace_context context;
    assert_true(trace_context_read(GOOD, sizeof GOOD - 1, &context));
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        uint8_t text[512] = {0}, block[256] = {0};
        uint32_t bytes = (uint32_t)strlen(rows[at].meta), block_bytes = (uint32_t)strlen(rows[at].block);
        memcpy(text, rows[at].meta, bytes);
        memcpy(block, rows[at].block, block_bytes);
        struct trace_places places =
            trace_context_places(text, (struct span){0, bytes}, block, block_bytes, &context);
        if (places.in_body)
            trace_context_write_parent(text + places.in_body, "cafe0000000000af");
        if (places.in_block)
            trace_context_write_parent(block + places.in_block, "cafe0000000000af");
        assert_string_equal((const char *)text, rows[at].new_meta);
        assert_string_equal((const char *)block, rows[at].new_block);
        if (places.in_body)
            trace_context_write_parent(text + places.in_body, PARENT);
        if (places.in_block)
            trace_context_write_parent(block + places.in_block, PARENT);
        assert_string_equal((const char *)text, rows[at].meta);
        assert_string_equal((const char *)block, rows[at].block);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_judged),
        cmocka_unit_test(the_member_counts_before_the_field),
        cmocka_unit_test(a_long_value_is_judged_alike_in_both_places),
        cmocka_unit_test(a_context_has_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
