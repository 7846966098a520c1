#include "router/gate/holding_bounds.h"

#include <assert.h>

#include "core/rights/users.h"
#include "core/send/keep.h"

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

uint32_t holding_bytes(const struct frame *frame) {
    return frame_keep_bytes(frame) + (uint32_t)sizeof(struct held);
}

bool holding_keep(struct shard *shard, struct held *held, const struct frame *frame) {
    assert(!held->frame.buffer);
    return frame_keep(&shard->buffers, frame, &held->unit, &held->frame);
}
