// One JSON text a line. A line feed ends the line, whatever stands before: JSON escapes line feeds in
// strings. A CR before it is white space and belongs to no body. A line of white space alone is nothing.
//
// Failure comes when body_bytes_max bytes have come and the line goes on (fault_at is that limit). A request
// line of HTTP is a failure, too: a web page could have a browser send any text behind one, and the hub would
// carry that out.
#pragma once

#include "core/wire/unit.h"

// Goes on with the line that starts at `line`, of which `bytes` have come; at least as many as at the last
// call, and the same ones. Reads nothing past `bytes`. The length is known when the line feed has come, so
// the result is never UNIT_PARTIAL.
enum unit_result lines_scan(struct unit *unit, const uint8_t *line, size_t bytes,
                            const struct unit_limits *limits);
// The stream has ended behind these bytes, for which lines_scan said UNIT_OPEN: they are a line without its
// line feed. UNIT_WHOLE or UNIT_BAD.
enum unit_result lines_end(struct unit *unit, const uint8_t *line, size_t bytes);
// Returns the most bytes that a line can have while its length isn't known.
uint32_t lines_open_max(const struct unit_limits *limits);
