// Spans of traces, as OTLP/HTTP has them in JSON (OpenTelemetry Protocol 1.x; the attributes are those of its semantic
// conventions for RPC and MCP, and others under `patchbay.`). A span is what the hub tells of one request.
//
//     {"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[ span , span … ]}]}]}
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/requests/trace_context.h"

// Bytes of a text that a span has at most; it is cut between two characters.
enum { TRACE_TEXT_BYTES_MAX = 256 };

// In UTF-8; bytes 0: not known.
struct trace_text {
    const char *bytes;
    size_t count;
};

// The kind of callee that a method's parameters name.
enum trace_callee {
    TRACE_CALLEE_NONE,
    TRACE_CALLEE_TOOL, // a tool that an agent of HugAI offers
    TRACE_CALLEE_MCP,  // a method of MCP that names nothing, or nothing that is told
    TRACE_CALLEE_MCP_TOOL,
    TRACE_CALLEE_MCP_PROMPT,
};

struct trace_span {
    const char *trace;  // TRACE_ID_DIGITS
    const char *id;     // TRACE_PARENT_DIGITS
    const char *parent; // likewise; NULL: the trace begins with it
    // Nanoseconds since 1970, in rising order; 0: not known.
    uint64_t began_ns, sent_ns, answered_ns, ended_ns;
    struct trace_text method, request_id, source, target, user, callee_name;
    enum trace_callee callee;
    uint64_t request_bytes;
    uint64_t response_bytes;
    bool has_response; // the target's, with those bytes
    bool is_error;
    bool is_by_hub; // the error is the hub's own
    bool has_code;  // of the error, which it lacks where it can't be read
    int64_t code;
};

// Writes one.
void trace_span_put(struct text *out, const struct trace_span *span);
// Writes what stands before the spans of one hub; `instance` tells it from others. TRACE_SPANS_END stands behind them.
void trace_span_put_head(struct text *out, const char *version, const char *instance);
#define TRACE_SPANS_END "]}]}]}"
