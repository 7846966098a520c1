// Writes spans of traces in the JSON of OTLP/HTTP (OpenTelemetry Protocol 1.x). Attributes follow its semantic
// conventions for RPC and MCP; the hub's own begin with `patchbay.`. A span describes one request.
//
//     {"resourceSpans":[{"resource":{…},"scopeSpans":[{"scope":{…},"spans":[ span , span … ]}]}]}
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/requests/trace_context.h"

// The bound of a text in a span, in bytes. A longer text is cut between two characters.
enum { TRACE_TEXT_BYTES_MAX = 256 };

// A text in UTF-8; count 0: unknown.
struct trace_text {
    const char *bytes;
    size_t count;
};

// The kind of callee that the method's parameters name.
enum trace_callee {
    TRACE_CALLEE_NONE,
    TRACE_CALLEE_TOOL, // a tool that an agent of HugAI offers
    TRACE_CALLEE_MCP,  // a method of MCP without a callee that is shown
    TRACE_CALLEE_MCP_TOOL,
    TRACE_CALLEE_MCP_PROMPT,
};

struct trace_span {
    const char *trace;  // TRACE_ID_DIGITS digits
    const char *id;     // TRACE_PARENT_DIGITS digits
    const char *parent; // TRACE_PARENT_DIGITS digits; NULL: the trace's first span
    // Times in ns since 1970, in rising order; 0: unknown.
    uint64_t began_ns, sent_ns, answered_ns, ended_ns;
    struct trace_text method, request_id, source, target, user, callee_name;
    enum trace_callee callee;
    uint64_t request_bytes;
    uint64_t response_bytes;
    bool has_response; // the target's, of response_bytes bytes
    bool is_error;
    bool is_by_hub; // the error is the hub's own
    bool has_code;  // `code` is the error's; false if the code can't be read
    int64_t code;
};

// Writes a span.
void trace_span_put(struct text *out, const struct trace_span *span);
// Writes the text before the spans of one hub; `instance` tells the hub from others. TRACE_SPANS_END must follow the
// spans.
void trace_span_put_head(struct text *out, const char *version, const char *instance);
#define TRACE_SPANS_END "]}]}]}"
