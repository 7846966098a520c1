#include "router/features/gate/gate_quota.h"

#include <assert.h>

#include "core/rights/users.h"
#include "core/send/parcel.h"

// Returns the part of either bound that one user, or without users one connection, may have.
static uint64_t share_of(uint64_t all) {
    assert(all > 0);
    return all / 4 ? all / 4 : 1;
}

// --- One user's

static void uncount_share(const struct user *user, uint32_t bytes) {
    if (!user)
        return;
    account_release_bytes(user->account, bytes);
    account_release(user->account);
}

// 0, or the bound that is in the way.
static uint64_t count_share(const struct annex *annex, const struct user *user, uint32_t bytes,
                            uint32_t share_max, uint64_t share_bytes_max) {
    assert(share_max > 0 && share_bytes_max > 0);
    if (!user)
        return annex->held_count >= share_max                ? share_max
               : annex->held_bytes + bytes > share_bytes_max ? share_bytes_max
                                                             : 0;
    if (!account_detain(user->account, share_max))
        return share_max;
    if (account_detain_bytes(user->account, bytes, share_bytes_max))
        return 0;
    account_release(user->account);
    return share_bytes_max;
}

// --- All

void gate_quota_uncount(struct shard *shard, const struct user *user, uint32_t bytes) {
    assert(atomic_load_explicit(&shard->hub->held, memory_order_relaxed) > 0);
    atomic_fetch_sub_explicit(&shard->hub->held, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&shard->hub->held_bytes, bytes, memory_order_relaxed);
    uncount_share(user, bytes);
}

uint64_t gate_quota_count(struct shard *shard, const struct annex *annex, const struct user *user,
                          uint32_t bytes) {
    struct hub *hub = shard->hub;
    uint32_t max = shard_limits(shard)->held_max;
    uint64_t bytes_max = shard_limits(shard)->memory_bytes_max / 4;
    assert(max > 0 && bytes > 0);
    uint64_t over = count_share(annex, user, bytes, (uint32_t)share_of(max), share_of(bytes_max));
    if (over)
        return over;
    uint32_t previous = atomic_fetch_add_explicit(&hub->held, 1, memory_order_relaxed);
    uint64_t previous_bytes = atomic_fetch_add_explicit(&hub->held_bytes, bytes, memory_order_relaxed);
    over = previous >= max ? max : previous_bytes + bytes > bytes_max ? bytes_max : 0;
    if (over)
        gate_quota_uncount(shard, user, bytes);
    return over;
}

uint32_t gate_quota_bytes(const struct frame *frame) {
    return frame_copy_bytes(frame) + (uint32_t)sizeof(struct held_message);
}

bool gate_quota_keep(struct shard *shard, struct held_message *held, const struct frame *frame) {
    assert(!held->frame.buffer);
    return frame_copy(&shard->buffers, frame, &held->unit, &held->frame);
}
