// Server-sent events (HTML, section 9.2): each body is the data of one event. The receiver sends nothing.
#pragma once

#include "core/wire/unit.h"

#define SSE_DATA "data: "

enum {
    SSE_EVENT_BYTES_MAX = 32,
    SSE_ID_BYTES_MAX = 160,
    // "event: ", "id: " and "data: ", with line feeds behind the first two.
    SSE_HEAD_BYTES_MAX = 7 + SSE_EVENT_BYTES_MAX + 1 + 4 + SSE_ID_BYTES_MAX + 1 + 6,
};

// Scans any bytes as one unit without a body.
enum unit_result sse_scan(struct unit *unit, uint8_t *bytes, size_t count, const struct unit_limits *limits);
uint32_t sse_open_max(const struct unit_limits *limits);

// Writes the bytes before a body of any length. Returns the number of bytes.
size_t sse_data_head(char *out, uint64_t body_bytes);
// Writes the event's name, its id and the bytes before a body. Returns the number of bytes. Name and id must have no
// line break; NULL: the event has none. May be used as a parcel's head (parcel_set_head).
size_t sse_head(char out[SSE_HEAD_BYTES_MAX], const char *event, const char *id, size_t id_bytes);
