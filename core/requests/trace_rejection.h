// Reads how many spans a collector rejects, from the body of its response (OTLP/HTTP in JSON), as the body comes:
//
//     {"partialSuccess":{"rejectedSpans":"3","errorMessage":"…"}}
//
// The body may have any length and come in any parts. The reader's memory is bounded.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"

enum { TRACE_REJECTION_TOKEN_BYTES = 128 }; // bound of a key or a number

// The state of a reader. Zeroed: no byte has come.
struct trace_rejection {
    uint8_t state;
    uint8_t level;     // 0: outside; 1: in the response's object; 2: in partialSuccess
    uint8_t wanted;    // the wanted key whose value comes
    bool is_in_string; // within a string that is skipped
    bool is_escaped;   // the next byte of the string is escaped
    uint32_t depth;    // open brackets in the skipped value
    uint32_t bytes;    // length of `token`
    uint64_t count;    // rejected spans, as far as is known
    uint8_t token[TRACE_REJECTION_TOKEN_BYTES + BUFFER_SLACK_BYTES];
};

// Takes the next bytes of the body. Returns whether the count is final, whatever bytes follow. A body of another form
// means 0.
bool trace_rejection_read(struct trace_rejection *rejection, const uint8_t *bytes, uint32_t count);
