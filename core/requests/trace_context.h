// The context of a trace, as W3C Trace Context writes it in `traceparent`:
//
//     00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//     version, trace, parent, flags
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json/json.h"

enum { TRACE_ID_DIGITS = 32, TRACE_PARENT_DIGITS = 16 };

struct trace_context {
    char trace[TRACE_ID_DIGITS]; // lower-case hexadecimal digits; the first is 0 where there is no context
    char parent[TRACE_PARENT_DIGITS]; // likewise
    bool sampled;
};

// Reads one. False for a value that W3C calls invalid: another form, zeros alone, or the version ff. A version that is
// still unknown may have more behind it.
bool trace_context_read(const char *text, size_t bytes, struct trace_context *out);
// The context of a message: that of `traceparent` in `meta`, an object of `body` (bytes 0: none), else that of the header
// field in `block`, header lines that were judged, up to `block_bytes` (0: none). A value that is invalid, or there twice,
// is none. False: there is none.
bool trace_context_find(const uint8_t *body, struct span meta, const uint8_t *block, uint32_t block_bytes,
                        struct trace_context *out);
// Where a message bears a context: the offsets of the parent's digits in the body and in the block; 0: it isn't borne
// there. A value that is spelled with escapes up to there has no such place.
struct trace_places {
    uint32_t in_body, in_block;
};

// Finds the places of the context `context` in a message, as above. There may be one in each.
struct trace_places trace_context_places(const uint8_t *body, struct span meta, const uint8_t *block,
                                         uint32_t block_bytes, const struct trace_context *context);
