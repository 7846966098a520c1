// Finds the header block and the body's boundary in place (HugAI v2 headers; Hermes extension API, "Message Framing";
// the field syntax is RFC 9110 section 5, made strict). Each byte of a header block is judged once.
#pragma once

#include "core/wire/unit.h"

// Scans on in the frame that starts at `frame`, of which `bytes` have come: the same bytes as at the last call, and
// perhaps more. Reads nothing past `bytes`. The frame's length is known when the block is whole. Then body_at is the
// block's length, with its closing blank line.
enum unit_result frame_scan(struct unit *unit, const uint8_t *frame, size_t bytes,
                            const struct unit_limits *limits);
// Returns the most bytes that a unit may have while its block isn't whole.
uint32_t frame_open_max(const struct unit_limits *limits);

// Writes "Content-Length: N" with its CR LF. Returns the length in bytes, WIRE_HEAD_BYTES_MAX at most.
size_t frame_length_line(char *out, uint64_t body_bytes);
