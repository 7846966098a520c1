// Spans as OTLP has them in JSON: each attribute where it is due, texts that are cut and escaped, codes of both signs.
#include "core/requests/trace_span.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
// cmocka wants these before it
#include <cmocka.h>

#include "core/base/memory.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define ID    "00f067aa0ba902b7"

#define TEXT(key, value)   "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define NUMBER(key, value) "{\"key\":\"" key "\",\"value\":{\"intValue\":\"" value "\"}}"
#define HEAD               "{\"traceId\":\"" TRACE "\",\"spanId\":\"" ID "\""
#define TIMES                                                                                                \
    ",\"kind\":2,\"startTimeUnixNano\":\"1700000000000000001\",\"endTimeUnixNano\":\"1700000000000000009\""
#define SYSTEM TEXT("rpc.system.name", "jsonrpc")
#define BYTES  NUMBER("patchbay.request.bytes", "70")

static struct trace_text text_of(const char *text) {
    return (struct trace_text){text, strlen(text)};
}

static struct trace_span plain_span(const char *method) {
    return (struct trace_span){
        .trace = TRACE,
        .id = ID,
        .began_ns = UINT64_C(1700000000000000001),
        .ended_ns = UINT64_C(1700000000000000009),
        .method = text_of(method),
        .request_bytes = 70,
    };
}

static void assert_writes(const struct trace_span *span, const char *expected) {
    struct text out;
    text_init(&out);
    trace_span_put(&out, span);
    assert_false(out.failed);
    assert_int_equal(out.length, strlen(expected));
    assert_memory_equal(out.bytes, expected, out.length);
    text_deinit(&out);
}

static void a_span_has_what_is_known(void **state) {
    (void)state;
    struct trace_span span = plain_span("work");
    assert_writes(&span, HEAD ",\"name\":\"work\"" TIMES ",\"attributes\":[" SYSTEM
                              "," TEXT("rpc.method", "work") "," BYTES "]}");
    span.parent = "ffffffffffffffff";
    span.sent_ns = span.began_ns + 1;
    span.answered_ns = span.began_ns + 2;
    span.request_id = text_of("r\"1");
    span.source = text_of("a");
    span.target = text_of("b");
    span.user = text_of("u");
    span.has_response = true;
    assert_writes(
        &span, HEAD
        ",\"parentSpanId\":\"ffffffffffffffff\",\"name\":\"work\"" TIMES ",\"attributes\":[" SYSTEM
        "," TEXT("rpc.method", "work") "," TEXT("jsonrpc.request.id", "r\\\"1") "," TEXT(
            "patchbay.source",
            "a") "," TEXT("patchbay.target",
                          "b") "," TEXT("patchbay.user",
                                        "u") "," BYTES
                                             "," NUMBER("patchbay.response.bytes",
                                                        "0") "],\"events\":[{\"timeUnixNano\":"
                                                             "\"1700000000000000002\",\"name\":\"sent\"},"
                                                             "{\"timeUnixNano\":\"1700000000000000003\","
                                                             "\"name\":\"answered\"}]}");
}

static void errors_have_their_code(void **state) {
    (void)state;
    static const struct {
        bool has_code, is_by_hub;
        int64_t code;
        const char *expected;
    } rows[] = {
        {true, true, -32051,
         TEXT("rpc.response.status_code", "-32051") "," TEXT("error.type",
                                                             "-32051") "," TEXT("patchbay.ended_by", "hub")},
        {true, false, 7,
         TEXT("rpc.response.status_code", "7") "," TEXT("error.type", "7") "," TEXT("patchbay.ended_by",
                                                                                    "target")},
        {true, false, INT64_MIN,
         TEXT("rpc.response.status_code", "-9223372036854775808") "," TEXT(
             "error.type", "-9223372036854775808") "," TEXT("patchbay.ended_by", "target")},
        {false, false, 0, TEXT("error.type", "_OTHER") "," TEXT("patchbay.ended_by", "target")},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        char expected[2048] =
            HEAD ",\"name\":\"m\"" TIMES ",\"attributes\":[" SYSTEM "," TEXT("rpc.method", "m") "," BYTES ",";
        struct trace_span span = plain_span("m");
        span.is_error = true;
        span.has_code = rows[at].has_code;
        span.is_by_hub = rows[at].is_by_hub;
        span.code = rows[at].code;
        strcat(expected, rows[at].expected);
        strcat(expected, "],\"status\":{\"code\":2}}");
        assert_writes(&span, expected);
    }
}

static void what_is_called_has_its_names(void **state) {
    (void)state;
    static const struct {
        enum trace_callee callee;
        const char *method, *name, *shown, *more;
    } rows[] = {
        {TRACE_CALLEE_TOOL, "tool/integration", "grep", "tool/integration grep", ""},
        {TRACE_CALLEE_TOOL, "tools/call", "", "tools/call", ""},
        {TRACE_CALLEE_MCP_TOOL, "tools/call", "grep", "tools/call grep",
         "," TEXT("mcp.method.name", "tools/call") "," TEXT("gen_ai.operation.name", "execute_tool") "," TEXT(
             "gen_ai.tool.name", "grep")},
        {TRACE_CALLEE_MCP_PROMPT, "prompts/get", "greet", "prompts/get",
         "," TEXT("mcp.method.name", "prompts/get") "," TEXT("gen_ai.prompt.name", "greet")},
        {TRACE_CALLEE_MCP, "resources/read", "", "resources/read",
         "," TEXT("mcp.method.name", "resources/read")},
    };
    for (size_t at = 0; at < sizeof rows / sizeof *rows; at++) {
        char expected[2048];
        struct trace_span span = plain_span(rows[at].method);
        span.callee = rows[at].callee;
        span.callee_name = text_of(rows[at].name);
        snprintf(expected, sizeof expected,
                 HEAD ",\"name\":\"%s\"" TIMES ",\"attributes\":[" SYSTEM
                      "," TEXT("rpc.method", "%s") "," BYTES "%s]}",
                 rows[at].shown, rows[at].method, rows[at].more);
        assert_writes(&span, expected);
    }
}

// At a character, and never in two.
static void texts_are_cut(void **state) {
    (void)state;
    char name[TRACE_TEXT_BYTES_MAX + 64], expected[4 * sizeof name];
    memset(name, 'x', sizeof name);
    memcpy(name + TRACE_TEXT_BYTES_MAX - 1, "\xc3\xa4", 2);
    struct trace_span span = plain_span("tools/call");
    span.callee = TRACE_CALLEE_MCP_TOOL;
    span.callee_name = (struct trace_text){name, sizeof name};
    snprintf(
        expected, sizeof expected,
        HEAD
        ",\"name\":\"tools/call %.*s\"" TIMES ",\"attributes\":[" SYSTEM
        "," TEXT("rpc.method", "tools/call") "," BYTES "," TEXT("mcp.method.name", "tools/call") "," TEXT(
            "gen_ai.operation.name",
            "execute_tool") ","
                            "{\"key\":\"gen_ai.tool.name\",\"value\":{\"stringValue\":\"%.*s\"}}]}",
        TRACE_TEXT_BYTES_MAX - 11, name, TRACE_TEXT_BYTES_MAX - 1, name);
    assert_writes(&span, expected);
}

// All there is, each text as long as may be and of characters that have the longest escapes.
static void the_largest_span_is_whole(void **state) {
    (void)state;
    enum { ESCAPE = 6 };
    char name[TRACE_TEXT_BYTES_MAX];
    memset(name, 1, sizeof name);
    struct trace_text longest = {name, sizeof name};
    struct trace_span span = plain_span("m");
    struct text small, large;
    span.parent = "ffffffffffffffff";
    span.callee = TRACE_CALLEE_MCP_TOOL;
    span.began_ns = span.sent_ns = span.answered_ns = span.ended_ns = INT64_MAX;
    span.request_bytes = span.response_bytes = INT64_MAX;
    span.has_response = span.is_error = span.has_code = true;
    span.code = INT64_MIN;
    span.callee_name = span.request_id = span.source = span.target = span.user = text_of("x");
    text_init(&small);
    trace_span_put(&small, &span);
    span.method = span.callee_name = span.request_id = span.source = span.target = span.user = longest;
    text_init(&large);
    trace_span_put(&large, &span);
    assert_false(small.failed || large.failed);
    // The name is cut, so it has no room for the callee
    size_t shorter = strlen("m x") + strlen("m") * 2 + strlen("x") * 5;
    assert_int_equal(large.length, small.length - shorter + ESCAPE * TRACE_TEXT_BYTES_MAX * 8);
    assert_true(large.capacity >= large.length && large.bytes[large.length - 1] == '}');
    text_deinit(&small);
    text_deinit(&large);
}

static void without_memory_a_span_has_failed(void **state) {
    (void)state;
    struct trace_span span = plain_span("work");
    span.is_error = true;
    span.sent_ns = span.began_ns;
    struct text out;
    text_init(&out);
    memory_fail_after(0);
    trace_span_put(&out, &span);
    trace_span_put_head(&out, "1", "2");
    memory_fail_after(UINT64_MAX);
    assert_true(out.failed);
    text_deinit(&out);
}

static void spans_stand_under_their_hub(void **state) {
    (void)state;
    static const char expected[] =
        "{\"resourceSpans\":[{\"resource\":{\"attributes\":[" TEXT("service.name", "patchbay") "," TEXT(
            "service.version", "1.2") "," TEXT("service.instance.id",
                                               "abc") "]},\"scopeSpans\":[{\"scope\":{\"name\":\"patchbay\","
                                                      "\"version\":\"1.2\"},\"spans\":[" TRACE_SPANS_END;
    struct text out;
    text_init(&out);
    trace_span_put_head(&out, "1.2", "abc");
    text_put(&out, TRACE_SPANS_END);
    assert_int_equal(out.length, sizeof expected - 1);
    assert_memory_equal(out.bytes, expected, out.length);
    text_deinit(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_span_has_what_is_known),     cmocka_unit_test(errors_have_their_code),
        cmocka_unit_test(what_is_called_has_its_names), cmocka_unit_test(texts_are_cut),
        cmocka_unit_test(the_largest_span_is_whole),    cmocka_unit_test(without_memory_a_span_has_failed),
        cmocka_unit_test(spans_stand_under_their_hub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
