#include "router/gate/holding_bounds.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"

void holding_uncount(struct shard *shard, const struct user *user, uint32_t bytes) {
    assert(atomic_load_explicit(&shard->hub->held, memory_order_relaxed) > 0);
    atomic_fetch_sub_explicit(&shard->hub->held, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&shard->hub->held_bytes, bytes, memory_order_relaxed);
    if (user)
        account_release(user->account);
}

uint64_t holding_count(struct shard *shard, const struct annex *annex, const struct user *user,
                       uint32_t bytes) {
    struct hub *hub = shard->hub;
    uint32_t max = shard_limits(shard)->held_max, own_max = max / 4 ? max / 4 : 1;
    uint64_t bytes_max = shard_limits(shard)->memory_bytes_max / 4;
    assert(max > 0 && bytes > 0);
    if (user ? !account_detain(user->account, own_max) : annex->held_count >= own_max)
        return own_max;
    uint32_t before = atomic_fetch_add_explicit(&hub->held, 1, memory_order_relaxed);
    uint64_t bytes_before = atomic_fetch_add_explicit(&hub->held_bytes, bytes, memory_order_relaxed);
    uint64_t over = before >= max ? max : bytes_before + bytes > bytes_max ? bytes_max : 0;
    if (over)
        holding_uncount(shard, user, bytes);
    return over;
}

// A large frame has a buffer of its own.
static bool may_stay(const struct frame *frame) {
    const struct buffer *buffer = frame->buffer;
    return buffer->capacity != RECEIVE_BUFFER_BYTES && frame->body.bytes >= buffer->capacity / 2;
}

uint32_t holding_bytes(const struct frame *frame) {
    uint32_t bytes = may_stay(frame) ? frame->buffer->capacity : frame->unit->body_at + frame->body.bytes;
    return bytes + (uint32_t)sizeof(struct held);
}

// Envelope and body, without what stood between them in a batch.
static bool copy_frame(struct shard *shard, struct held *held, const struct frame *frame) {
    uint32_t head = frame->unit->body_at, bytes = frame->body.bytes;
    assert(bytes > 0 && frame->at + head <= frame->body.at);
    struct buffer *buffer = buffer_take_sized(&shard->buffers, head + bytes);
    if (!buffer)
        return false;
    memcpy(buffer->bytes, frame->buffer->bytes + frame->at, head);
    memcpy(buffer->bytes + head, frame_body(frame), bytes);
    if (bytes == held->unit.body_bytes)
        held->unit.bytes = head + bytes;
    held->frame = (struct frame){.buffer = buffer, .unit = &held->unit, .body = {head, bytes}};
    return true;
}

bool holding_keep(struct shard *shard, struct held *held, const struct frame *frame) {
    assert(!held->frame.buffer && frame->buffer->references > 0);
    held->unit = *frame->unit;
    if (!may_stay(frame))
        return copy_frame(shard, held, frame);
    buffer_hold(frame->buffer);
    held->frame = *frame;
    held->frame.unit = &held->unit;
    return true;
}
