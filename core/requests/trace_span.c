#include "core/requests/trace_span.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"

// The most bytes of a span without its texts.
enum { PLAIN_BYTES_MAX = 2048 };

// --- Parts. Each function writes where there is room, and returns the place behind. All of a span is reserved at once.

#define PUT(at, literal)     text_copy(at, literal, sizeof(literal) - 1)
#define ATTRIBUTE(key, kind) ",{\"key\":\"" key "\",\"value\":{\"" kind "\":\""
#define PUT_TEXT(at, key, text)                                                                              \
    put_text(at, ATTRIBUTE(key, "stringValue"), sizeof ATTRIBUTE(key, "stringValue") - 1, text)
#define PUT_BYTES(at, key, many) PUT(put_number(PUT(at, ATTRIBUTE(key, "intValue")), many), "\"}}")

static size_t cut(struct trace_text text) {
    return json_cut_at_character(text.bytes, text.count, TRACE_TEXT_BYTES_MAX);
}

// Writes a text as a JSON string has it, without quotes.
static char *put_cut(char *at, struct trace_text text) {
    size_t bytes = cut(text), plain = 0;
    assert(text.bytes || bytes == 0);
    for (size_t next = 0; (next = text_find_escaped(text.bytes, plain, bytes)) < bytes; plain = next + 1) {
        at = text_copy(at, text.bytes + plain, next - plain);
        at += text_escape(at, (unsigned char)text.bytes[next]);
    }
    return text_copy(at, text.bytes + plain, bytes - plain);
}

// Writes a 64-bit number, which OTLP's JSON has in quotes.
static char *put_number(char *at, uint64_t number) {
    assert(number <= INT64_MAX);
    return at + text_digits(at, number);
}

// --- Attributes

static inline char *put_text(char *at, const char *head, size_t head_bytes, struct trace_text text) {
    assert(text.bytes || text.count == 0);
    if (text.count == 0)
        return at;
    return PUT(put_cut(text_copy(at, head, head_bytes), text), "\"}}");
}

static struct trace_text word(const char *text) {
    return (struct trace_text){text, strlen(text)};
}

static char *put_callee(char *at, const struct trace_span *span) {
    if (span->callee >= TRACE_CALLEE_MCP)
        at = PUT_TEXT(at, "mcp.method.name", span->method);
    if (span->callee == TRACE_CALLEE_MCP_TOOL) {
        at = PUT_TEXT(at, "gen_ai.operation.name", word("execute_tool"));
        at = PUT_TEXT(at, "gen_ai.tool.name", span->callee_name);
    }
    if (span->callee == TRACE_CALLEE_MCP_PROMPT)
        at = PUT_TEXT(at, "gen_ai.prompt.name", span->callee_name);
    return at;
}

static char *put_error(char *at, const struct trace_span *span) {
    char code[24];
    bool is_negative = span->code < 0;
    uint64_t digits = is_negative ? -(uint64_t)span->code : (uint64_t)span->code;
    code[0] = '-';
    struct trace_text text = {code + !is_negative, text_digits(code + 1, digits) + is_negative};
    if (span->has_code) {
        at = PUT_TEXT(at, "rpc.response.status_code", text);
        at = PUT_TEXT(at, "error.type", text);
    } else {
        at = PUT_TEXT(at, "error.type", word("_OTHER"));
    }
    return PUT_TEXT(at, "patchbay.ended_by", word(span->is_by_hub ? "hub" : "target"));
}

static char *put_attributes(char *at, const struct trace_span *span) {
    at = PUT(at, "\",\"attributes\":[{\"key\":\"rpc.system.name\",\"value\":{\"stringValue\":\"jsonrpc\"}}");
    at = PUT_TEXT(at, "rpc.method", span->method);
    at = PUT_TEXT(at, "jsonrpc.request.id", span->request_id);
    at = PUT_TEXT(at, "patchbay.source", span->source);
    at = PUT_TEXT(at, "patchbay.target", span->target);
    at = PUT_TEXT(at, "patchbay.user", span->user);
    at = PUT_BYTES(at, "patchbay.request.bytes", span->request_bytes);
    if (span->has_response)
        at = PUT_BYTES(at, "patchbay.response.bytes", span->response_bytes);
    if (span->callee)
        at = put_callee(at, span);
    if (span->is_error)
        at = put_error(at, span);
    return PUT(at, "]");
}

// --- Spans

static bool has_tool(const struct trace_span *span) {
    return (span->callee == TRACE_CALLEE_TOOL || span->callee == TRACE_CALLEE_MCP_TOOL) &&
           span->callee_name.count > 0;
}

// Writes the method, and after it the tool that is called.
static char *put_name(char *at, const struct trace_span *span) {
    char name[2 * TRACE_TEXT_BYTES_MAX + 1];
    if (!has_tool(span))
        return put_cut(at, span->method);
    char *end = text_copy(name, span->method.bytes, cut(span->method));
    *end++ = ' ';
    end = text_copy(end, span->callee_name.bytes, cut(span->callee_name));
    return put_cut(at, (struct trace_text){name, (size_t)(end - name)});
}

static char *put_events(char *at, const struct trace_span *span) {
    if (!span->sent_ns && !span->answered_ns)
        return at;
    at = PUT(at, ",\"events\":[");
    if (span->sent_ns) {
        at = PUT(at, "{\"timeUnixNano\":\"");
        at = PUT(put_number(at, span->sent_ns), "\",\"name\":\"sent\"}");
    }
    if (span->sent_ns && span->answered_ns)
        at = PUT(at, ",");
    if (span->answered_ns) {
        at = PUT(at, "{\"timeUnixNano\":\"");
        at = PUT(put_number(at, span->answered_ns), "\",\"name\":\"answered\"}");
    }
    return PUT(at, "]");
}

// Returns a bound of a span's bytes. The method stands there up to three times, and the callee up to twice.
static size_t bytes_max(const struct trace_span *span) {
    size_t texts = 3 * cut(span->method) + 2 * cut(span->callee_name) + cut(span->request_id) +
                   cut(span->source) + cut(span->target) + cut(span->user);
    assert(texts <= 9 * TRACE_TEXT_BYTES_MAX);
    return PLAIN_BYTES_MAX + TEXT_ESCAPE_BYTES_MAX * texts;
}

// Writes a span. Kind 2 is SERVER, and status code 2 is ERROR.
static char *put_span(char *at, const struct trace_span *span) {
    assert(span->began_ns > 0 && span->began_ns <= span->ended_ns && span->method.count > 0);
    at = PUT(at, "{\"traceId\":\"");
    at = text_copy(at, span->trace, TRACE_ID_DIGITS);
    at = PUT(at, "\",\"spanId\":\"");
    at = text_copy(at, span->id, TRACE_PARENT_DIGITS);
    if (span->parent) {
        at = PUT(at, "\",\"parentSpanId\":\"");
        at = text_copy(at, span->parent, TRACE_PARENT_DIGITS);
    }
    at = PUT(at, "\",\"name\":\"");
    at = put_name(at, span);
    at = PUT(at, "\",\"kind\":2,\"startTimeUnixNano\":\"");
    at = put_number(at, span->began_ns);
    at = PUT(at, "\",\"endTimeUnixNano\":\"");
    at = put_number(at, span->ended_ns);
    at = put_attributes(at, span);
    at = put_events(at, span);
    if (span->is_error)
        at = PUT(at, ",\"status\":{\"code\":2}");
    return PUT(at, "}");
}

void trace_span_put(struct text *out, const struct trace_span *span) {
    size_t most = bytes_max(span);
    if (!text_reserve(out, most))
        return;
    size_t bytes = (size_t)(put_span(out->bytes + out->length, span) - (out->bytes + out->length));
    assert(bytes <= most);
    out->length += bytes;
}

static void put_resource(struct text *out, const char *head, const char *value) {
    assert(value[0]);
    text_put(out, head);
    text_string(out, value, json_cut_at_character(value, strlen(value), TRACE_TEXT_BYTES_MAX));
    text_put(out, "}}");
}

void trace_span_put_head(struct text *out, const char *version, const char *instance) {
    assert(version[0] && instance[0]);
    text_put(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    text_put(out, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"patchbay\"}}");
    put_resource(out, ",{\"key\":\"service.version\",\"value\":{\"stringValue\":", version);
    put_resource(out, ",{\"key\":\"service.instance.id\",\"value\":{\"stringValue\":", instance);
    text_put(out, "]},\"scopeSpans\":[{\"scope\":");
    text_put(out, "{\"name\":\"patchbay\",\"version\":");
    text_string(out, version, strlen(version));
    text_put(out, "},\"spans\":[");
}
