// The lines wire: one JSON text a line. A line feed always ends the line, since JSON escapes line feeds in strings. A
// CR before the line feed is white space and is not part of the body. A line of white space alone is a unit without a
// body.
//
// Failure comes when body_bytes_max bytes have come without a line feed (fault_at is that limit). A request line of
// HTTP is a failure, too: a web page could have a browser send any text behind a request line, and the hub would obey
// that text.
#pragma once

#include "core/wire/unit.h"

// Scans on in the line that starts at `line`, of which `bytes` have come: the same bytes as at the last call, and
// perhaps more. Reads nothing past `bytes`. The length is known when the line feed has come, so the result is never
// UNIT_PARTIAL.
enum unit_result lines_scan(struct unit *unit, const uint8_t *line, size_t bytes,
                            const struct unit_limits *limits);
// Ends a line without a line feed, for which lines_scan returned UNIT_OPEN, because the stream has ended. Returns
// UNIT_WHOLE or UNIT_BAD.
enum unit_result lines_end(struct unit *unit, const uint8_t *line, size_t bytes);
// Returns the most bytes that a line can have while its length isn't known.
uint32_t lines_open_max(const struct unit_limits *limits);
