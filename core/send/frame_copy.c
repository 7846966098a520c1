#include "core/send/frame_copy.h"

#include <assert.h>
#include <string.h>

// A large frame has a buffer of its own.
static bool may_stay(const struct frame *frame) {
    const struct buffer *buffer = frame->buffer;
    return buffer->capacity != RECEIVE_BUFFER_BYTES && frame->body.bytes >= buffer->capacity / 2;
}

uint32_t frame_copy_bytes(const struct frame *frame) {
    assert(frame->body.bytes > 0);
    return may_stay(frame) ? frame->buffer->capacity : frame->unit->body_at + frame->body.bytes;
}

static bool copy(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                 struct frame *saved) {
    uint32_t head = frame->unit->body_at, bytes = frame->body.bytes;
    assert(bytes > 0 && frame->at + head <= frame->body.at);
    struct buffer *buffer = buffer_take_sized(buffers, head + bytes);
    if (!buffer)
        return false;
    memcpy(buffer->bytes, frame->buffer->bytes + frame->at, head);
    memcpy(buffer->bytes + head, frame_body(frame), bytes);
    if (bytes == unit->body_bytes)
        unit->bytes = head + bytes;
    *saved = (struct frame){.buffer = buffer, .unit = unit, .body = {head, bytes}};
    return true;
}

bool frame_copy(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                struct frame *saved) {
    assert(frame->buffer->references > 0);
    *unit = *frame->unit;
    if (!may_stay(frame))
        return copy(buffers, frame, unit, saved);
    buffer_hold(frame->buffer);
    *saved = *frame;
    saved->unit = unit;
    return true;
}
