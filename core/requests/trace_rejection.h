// Finds how many spans a collector rejects, by the body of its answer (OTLP/HTTP in JSON), as the body comes:
//
//     {"partialSuccess":{"rejectedSpans":"3","errorMessage":"…"}}
//
// The body may be of any length and comes in any parts. The reader's memory is bounded.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/limits.h"

enum { TRACE_REJECTION_TOKEN_BYTES = 128 }; // of a key or a number that is read

// Zero bytes are a body of which nothing has come.
struct trace_rejection {
    uint8_t state;
    uint8_t level;     // 0: outside of all; 1: in the answer; 2: in partialSuccess
    uint8_t wanted;    // the value of this key is wanted
    bool is_in_string; // of what is passed over
    bool is_escaped;   // the next byte of a string is
    uint32_t depth;    // of what is passed over
    uint32_t bytes;    // of the token
    uint64_t count;    // of rejected spans, so far as is known
    uint8_t token[TRACE_REJECTION_TOKEN_BYTES + BUFFER_SLACK_BYTES];
};

// Takes the next bytes of the body. Returns whether the count is known: what may follow changes nothing. A body that is
// something else rejects none.
bool trace_rejection_read(struct trace_rejection *rejection, const uint8_t *bytes, uint32_t count);
