// The context of a trace in the form of `traceparent` (W3C Trace Context):
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
    char trace[TRACE_ID_DIGITS];      // lower-case hexadecimal digits; [0] is 0: no context
    char parent[TRACE_PARENT_DIGITS]; // lower-case hexadecimal digits
    bool sampled;
};

// Reads a traceparent. Returns false if W3C calls the value invalid: another form, only zeros, or version ff. A value
// of an unknown version may be longer.
bool trace_context_read(const char *text, size_t bytes, struct trace_context *out);
// Finds the context of a message. `traceparent` of `meta` goes first, an object of `body` (bytes 0: none). Next is the
// header field in `block`, valid header lines up to `block_bytes` (0: none). A value that is invalid, or occurs twice,
// is ignored. Returns false if there is no context.
bool trace_context_find(const uint8_t *body, struct span meta, const uint8_t *block, uint32_t block_bytes,
                        struct trace_context *out);
// The offsets of the parent's digits in a message: in the body, where a digit may be written as an escape, and in the
// header block. 0: the context isn't there.
struct trace_places {
    uint32_t in_body, in_block;
};

// Finds the offsets of the given context in a message, with the parameters of trace_context_find. Body and block may
// both have one.
struct trace_places trace_context_places(const uint8_t *body, struct span meta, const uint8_t *block,
                                         uint32_t block_bytes, const struct trace_context *context);
// Writes other digits in the place of a parent. Each digit stays plain or an escape, as it was. So the body keeps its
// length, and the former digits can be written back.
void trace_context_write_parent(uint8_t *place, const char parent[TRACE_PARENT_DIGITS]);
