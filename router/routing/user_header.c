#include "router/routing/user_header.h"

#include <assert.h>
#include <string.h>

#include "core/wire/field.h"

static bool is_name_of_user(const uint8_t *block, struct span name) {
    static const char lower[] = "patchbay-user";
    return field_is(block + name.at, name.bytes, lower, sizeof lower - 1);
}

// Copies the other lines; returns how many bytes these are.
static uint32_t copy_lines(const uint8_t *block, uint8_t *out, struct unit *unit) {
    uint32_t at = 0, to = 0, length_line_at = unit->length_line_at;
    assert(unit->body_at >= 2);
    for (struct field_line line; field_line_next(block, &at, unit->body_at, &line);) {
        if (is_name_of_user(block, line.name))
            continue;
        if (line.line.at == length_line_at)
            unit->length_line_at = to;
        memcpy(out + to, block + line.line.at, line.line.bytes);
        to += line.line.bytes;
    }
    memcpy(out + to, "\r\n", 2);
    return to + 2;
}

struct buffer *user_header_strip(struct buffer_pool *pool, const struct frame *frame, struct unit *unit,
                                 struct frame *out) {
    struct buffer *buffer = buffer_take_sized(pool, frame->unit->bytes);
    assert(frame->unit->names_user && frame->unit->length_line_bytes > 0);
    if (!buffer)
        return NULL;
    *unit = *frame->unit;
    unit->body_at = copy_lines(frame->buffer->bytes + frame->at, buffer->bytes, unit);
    unit->bytes = unit->body_at + unit->body_bytes;
    unit->names_user = false;
    memcpy(buffer->bytes + unit->body_at, frame_body(frame), unit->body_bytes);
    *out = frame_at(buffer, 0, unit);
    return buffer;
}
