#include "core/requests/trace_span.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"

enum { KIND_SERVER = 2, STATUS_ERROR = 2 };

// --- Parts

static void put_cut(struct text *out, struct trace_text text) {
    text_string(out, text.bytes, json_cut_at_character(text.bytes, text.count, TRACE_TEXT_BYTES_MAX));
}

static void put_digits(struct text *out, const char *name, const char *digits, size_t count) {
    text_put(out, name);
    text_add(out, digits, count);
    text_put(out, "\"");
}

// Numbers of 64 bits are strings there.
static void put_number(struct text *out, const char *name, uint64_t number) {
    assert(number <= INT64_MAX);
    text_put(out, name);
    text_number(out, (int64_t)number);
    text_put(out, "\"");
}

// --- Attributes

static void begin_attribute(struct text *out, const char *key) {
    assert(out->failed || out->length > 0);
    bool is_first = !out->failed && out->bytes[out->length - 1] == '[';
    text_put(out, is_first ? "{\"key\":\"" : ",{\"key\":\"");
    text_put(out, key);
}

static void put_text(struct text *out, const char *key, struct trace_text text) {
    if (text.count == 0)
        return;
    begin_attribute(out, key);
    text_put(out, "\",\"value\":{\"stringValue\":");
    put_cut(out, text);
    text_put(out, "}}");
}

static void put_word(struct text *out, const char *key, const char *word) {
    put_text(out, key, (struct trace_text){word, strlen(word)});
}

static void put_bytes(struct text *out, const char *key, uint64_t bytes) {
    begin_attribute(out, key);
    put_number(out, "\",\"value\":{\"intValue\":\"", bytes);
    text_put(out, "}}");
}

static void put_callee(struct text *out, const struct trace_span *span) {
    if (span->callee >= TRACE_CALLEE_MCP)
        put_text(out, "mcp.method.name", span->method);
    if (span->callee == TRACE_CALLEE_MCP_TOOL) {
        put_word(out, "gen_ai.operation.name", "execute_tool");
        put_text(out, "gen_ai.tool.name", span->callee_name);
    }
    if (span->callee == TRACE_CALLEE_MCP_PROMPT)
        put_text(out, "gen_ai.prompt.name", span->callee_name);
}

static void put_error(struct text *out, const struct trace_span *span) {
    char code[24];
    bool is_negative = span->code < 0;
    uint64_t digits = is_negative ? -(uint64_t)span->code : (uint64_t)span->code;
    code[0] = '-';
    struct trace_text text = {code + !is_negative, text_digits(code + 1, digits) + is_negative};
    if (span->has_code) {
        put_text(out, "rpc.response.status_code", text);
        put_text(out, "error.type", text);
    } else {
        put_word(out, "error.type", "_OTHER");
    }
    put_word(out, "patchbay.ended_by", span->is_by_hub ? "hub" : "target");
}

static void put_attributes(struct text *out, const struct trace_span *span) {
    text_put(out, ",\"attributes\":[");
    put_word(out, "rpc.system.name", "jsonrpc");
    put_text(out, "rpc.method", span->method);
    put_text(out, "jsonrpc.request.id", span->request_id);
    put_text(out, "patchbay.source", span->source);
    put_text(out, "patchbay.target", span->target);
    put_text(out, "patchbay.user", span->user);
    put_bytes(out, "patchbay.request.bytes", span->request_bytes);
    if (span->has_response)
        put_bytes(out, "patchbay.response.bytes", span->response_bytes);
    put_callee(out, span);
    if (span->is_error)
        put_error(out, span);
    text_put(out, "]");
}

// --- All

// The method, and behind it what it calls.
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
    text_put(out, ",\"name\":");
    put_cut(out, (struct trace_text){name, bytes});
}

static void put_event(struct text *out, const char *name, uint64_t time_ns) {
    bool is_first = !out->failed && out->bytes[out->length - 1] == '[';
    put_number(out, is_first ? "{\"timeUnixNano\":\"" : ",{\"timeUnixNano\":\"", time_ns);
    text_put(out, ",\"name\":\"");
    text_put(out, name);
    text_put(out, "\"}");
}

static void put_events(struct text *out, const struct trace_span *span) {
    if (!span->sent_ns && !span->answered_ns)
        return;
    text_put(out, ",\"events\":[");
    if (span->sent_ns)
        put_event(out, "sent", span->sent_ns);
    if (span->answered_ns)
        put_event(out, "answered", span->answered_ns);
    text_put(out, "]");
}

void trace_span_put(struct text *out, const struct trace_span *span) {
    assert(span->began_ns > 0 && span->began_ns <= span->ended_ns && span->method.count > 0);
    put_digits(out, "{\"traceId\":\"", span->trace, TRACE_ID_DIGITS);
    put_digits(out, ",\"spanId\":\"", span->id, TRACE_PARENT_DIGITS);
    if (span->parent)
        put_digits(out, ",\"parentSpanId\":\"", span->parent, TRACE_PARENT_DIGITS);
    put_name(out, span);
    text_put(out, ",\"kind\":");
    text_number(out, KIND_SERVER);
    put_number(out, ",\"startTimeUnixNano\":\"", span->began_ns);
    put_number(out, ",\"endTimeUnixNano\":\"", span->ended_ns);
    put_attributes(out, span);
    put_events(out, span);
    if (span->is_error) {
        text_put(out, ",\"status\":{\"code\":");
        text_number(out, STATUS_ERROR);
        text_put(out, "}");
    }
    text_put(out, "}");
}

void trace_span_put_head(struct text *out, const char *version, const char *instance) {
    assert(version[0] && instance[0]);
    text_put(out, "{\"resourceSpans\":[{\"resource\":{\"attributes\":[");
    put_word(out, "service.name", "patchbay");
    put_word(out, "service.version", version);
    put_word(out, "service.instance.id", instance);
    text_put(out, "]},\"scopeSpans\":[{\"scope\":");
    text_put(out, "{\"name\":\"patchbay\",\"version\":");
    text_string(out, version, strlen(version));
    text_put(out, "},\"spans\":[");
}
