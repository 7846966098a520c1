#include "core/requests/trace_span.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"

// The usual size of a span without texts and attributes' values.
enum { SPAN_BYTES_USUAL = 1536 };

// --- Parts

#define PUT(out, literal)    text_add(out, literal, sizeof(literal) - 1)
#define ATTRIBUTE(key, kind) ",{\"key\":\"" key "\",\"value\":{\"" kind "\":"
#define PUT_TEXT(out, key, text)                                                                             \
    put_text(out, ATTRIBUTE(key, "stringValue"), sizeof ATTRIBUTE(key, "stringValue") - 1, text)
#define PUT_BYTES(out, key, many)                                                                            \
    put_bytes(out, ATTRIBUTE(key, "intValue"), sizeof ATTRIBUTE(key, "intValue") - 1, many)

static void put_cut(struct text *out, struct trace_text text) {
    text_string(out, text.bytes, json_cut_at_character(text.bytes, text.count, TRACE_TEXT_BYTES_MAX));
}

// Writes a 64-bit number, which is a string in OTLP's JSON.
static void put_number(struct text *out, uint64_t number) {
    char digits[24] = "\"";
    assert(number <= INT64_MAX);
    size_t count = 1 + text_digits(digits + 1, number);
    digits[count] = '"';
    text_add(out, digits, count + 1);
}

// --- Attributes

static void put_text(struct text *out, const char *head, size_t head_bytes, struct trace_text text) {
    assert(text.bytes || text.count == 0);
    if (text.count == 0)
        return;
    text_add(out, head, head_bytes);
    put_cut(out, text);
    PUT(out, "}}");
}

static void put_bytes(struct text *out, const char *head, size_t head_bytes, uint64_t bytes) {
    text_add(out, head, head_bytes);
    put_number(out, bytes);
    PUT(out, "}}");
}

static struct trace_text word(const char *text) {
    return (struct trace_text){text, strlen(text)};
}

static void put_callee(struct text *out, const struct trace_span *span) {
    if (span->callee >= TRACE_CALLEE_MCP)
        PUT_TEXT(out, "mcp.method.name", span->method);
    if (span->callee == TRACE_CALLEE_MCP_TOOL) {
        PUT_TEXT(out, "gen_ai.operation.name", word("execute_tool"));
        PUT_TEXT(out, "gen_ai.tool.name", span->callee_name);
    }
    if (span->callee == TRACE_CALLEE_MCP_PROMPT)
        PUT_TEXT(out, "gen_ai.prompt.name", span->callee_name);
}

static void put_error(struct text *out, const struct trace_span *span) {
    char code[24];
    bool is_negative = span->code < 0;
    uint64_t digits = is_negative ? -(uint64_t)span->code : (uint64_t)span->code;
    code[0] = '-';
    struct trace_text text = {code + !is_negative, text_digits(code + 1, digits) + is_negative};
    if (span->has_code) {
        PUT_TEXT(out, "rpc.response.status_code", text);
        PUT_TEXT(out, "error.type", text);
    } else {
        PUT_TEXT(out, "error.type", word("_OTHER"));
    }
    PUT_TEXT(out, "patchbay.ended_by", word(span->is_by_hub ? "hub" : "target"));
}

static void put_attributes(struct text *out, const struct trace_span *span) {
    PUT(out, ",\"attributes\":[{\"key\":\"rpc.system.name\",\"value\":{\"stringValue\":\"jsonrpc\"}}");
    PUT_TEXT(out, "rpc.method", span->method);
    PUT_TEXT(out, "jsonrpc.request.id", span->request_id);
    PUT_TEXT(out, "patchbay.source", span->source);
    PUT_TEXT(out, "patchbay.target", span->target);
    PUT_TEXT(out, "patchbay.user", span->user);
    PUT_BYTES(out, "patchbay.request.bytes", span->request_bytes);
    if (span->has_response)
        PUT_BYTES(out, "patchbay.response.bytes", span->response_bytes);
    put_callee(out, span);
    if (span->is_error)
        put_error(out, span);
    PUT(out, "]");
}

// --- Spans

// Writes the span's name: the method, and after it the tool that is called.
static void put_name(struct text *out, const struct trace_span *span) {
    char name[2 * TRACE_TEXT_BYTES_MAX + 1];
    size_t bytes = json_cut_at_character(span->method.bytes, span->method.count, TRACE_TEXT_BYTES_MAX);
    bool has_tool = span->callee == TRACE_CALLEE_TOOL || span->callee == TRACE_CALLEE_MCP_TOOL;
    memcpy(name, span->method.bytes, bytes);
    if (has_tool && span->callee_name.count > 0) {
        size_t count =
            json_cut_at_character(span->callee_name.bytes, span->callee_name.count, TRACE_TEXT_BYTES_MAX);
        name[bytes++] = ' ';
        memcpy(name + bytes, span->callee_name.bytes, count);
        bytes += count;
    }
    PUT(out, ",\"name\":");
    put_cut(out, (struct trace_text){name, bytes});
}

static void put_events(struct text *out, const struct trace_span *span) {
    if (!span->sent_ns && !span->answered_ns)
        return;
    PUT(out, ",\"events\":[");
    if (span->sent_ns) {
        PUT(out, "{\"timeUnixNano\":");
        put_number(out, span->sent_ns);
        PUT(out, ",\"name\":\"sent\"}");
    }
    if (span->sent_ns && span->answered_ns)
        PUT(out, ",");
    if (span->answered_ns) {
        PUT(out, "{\"timeUnixNano\":");
        put_number(out, span->answered_ns);
        PUT(out, ",\"name\":\"answered\"}");
    }
    PUT(out, "]");
}

// Writes a span. Kind 2 is SERVER, and status code 2 is ERROR.
void trace_span_put(struct text *out, const struct trace_span *span) {
    assert(span->began_ns > 0 && span->began_ns <= span->ended_ns && span->method.count > 0);
    text_reserve(out, SPAN_BYTES_USUAL);
    PUT(out, "{\"traceId\":\"");
    text_add(out, span->trace, TRACE_ID_DIGITS);
    PUT(out, "\",\"spanId\":\"");
    text_add(out, span->id, TRACE_PARENT_DIGITS);
    if (span->parent) {
        PUT(out, "\",\"parentSpanId\":\"");
        text_add(out, span->parent, TRACE_PARENT_DIGITS);
    }
    PUT(out, "\"");
    put_name(out, span);
    PUT(out, ",\"kind\":2,\"startTimeUnixNano\":");
    put_number(out, span->began_ns);
    PUT(out, ",\"endTimeUnixNano\":");
    put_number(out, span->ended_ns);
    put_attributes(out, span);
    put_events(out, span);
    if (span->is_error)
        PUT(out, ",\"status\":{\"code\":2}");
    PUT(out, "}");
}

void trace_span_put_head(struct text *out, const char *version, const char *instance) {
    assert(version[0] && instance[0]);
    text_put(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    PUT(out, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"patchbay\"}}");
    PUT_TEXT(out, "service.version", word(version));
    PUT_TEXT(out, "service.instance.id", word(instance));
    text_put(out, "]},\"scopeSpans\":[{\"scope\":");
    text_put(out, "{\"name\":\"patchbay\",\"version\":");
    text_string(out, version, strlen(version));
    text_put(out, "},\"spans\":[");
}
