#include "core/wire/http_block.h"

#include <assert.h>
#include <string.h>

#include "core/wire/field.h"
#include "core/wire/frame.h"
#include "core/wire/wire.h"

static bool passes(const uint8_t *name, uint32_t bytes) {
    static const char custom[] = "custom-";
    enum { CUSTOM_BYTES = sizeof custom - 1 };
    if (bytes >= CUSTOM_BYTES && field_is(name, CUSTOM_BYTES, custom, CUSTOM_BYTES))
        return true;
    switch (bytes) {
    case 7:
        return field_is(name, bytes, "baggage", 7);
    case 10:
        return field_name_is(name, "request-id", 10) || field_name_is(name, "tracestate", 10);
    case 11:
        return field_name_is(name, "traceparent", 11);
    case 13:
        return field_name_is(name, "hugai-version", 13);
    case 16:
        return field_name_is(name, "governance-level", 16);
    default:
        return false;
    }
}

bool http_next_passing(const uint8_t *block, uint32_t end, uint32_t *at, struct span *line) {
    assert(end >= 2 && *at + 2 <= end);
    for (struct field_line field; field_line_next(block, at, end, &field);) {
        if (passes(block + field.name.at, field.name.bytes)) {
            *line = field.line;
            return true;
        }
    }
    return false;
}

// Moves the lines that pass to the front of the head, over the lines before them. Returns how many bytes the lines
// have.
static uint32_t gather(uint8_t *bytes, uint32_t end) {
    uint32_t to = 0, at = bytes[0] == '\r' ? 2 : 0;
    at = field_skip_value(bytes, at, end) + 2;
    for (struct span line; http_next_passing(bytes, end, &at, &line); to += line.bytes) {
        assert(to < line.at);
        memmove(bytes + to, bytes + line.at, line.bytes);
    }
    return to;
}

// Relies on room in the head: the request line and Host take more bytes than the new Content-Length line needs, even if
// the head had Transfer-Encoding instead.
uint32_t http_make_framed(uint8_t *bytes, struct unit *unit) {
    assert(unit->length_known && unit->body_bytes > 0 && !unit->canonical && unit->length_line_bytes == 0);
    char length_line[WIRE_HEAD_BYTES_MAX];
    uint32_t length_bytes = (uint32_t)frame_length_line(length_line, unit->body_bytes);
    uint32_t fields_bytes = gather(bytes, unit->body_at), fields_at = unit->body_at - 2 - fields_bytes;
    assert(fields_bytes + 2 + length_bytes < unit->body_at);
    uint32_t from = fields_at - length_bytes;
    memmove(bytes + fields_at, bytes, fields_bytes);
    memcpy(bytes + from, length_line, length_bytes);
    memcpy(bytes + unit->body_at - 2, "\r\n", 2);
    unit->canonical = true;
    unit->length_line_at = 0;
    unit->length_line_bytes = length_bytes;
    unit->body_at -= from;
    unit->bytes = unit->body_at + unit->body_bytes;
    unit->at = unit->body_at;
    return from;
}
