// Watches peers that must go on reading: peers with more than twice the queue's bound, and peers that close once all is
// sent. A watched peer that reads nothing for a while is closed.
#pragma once

#include "router/engine/shard/peer.h"

// The bytes that may wait for one peer, in its queue and in exchanges: four times --max-queue, or 16 MiB if that is
// more.
uint64_t slow_reader_bytes_max(const struct shard *shard);
// Returns whether the peer must be closed now: more bytes wait than slow_reader_bytes_max, and the peer isn't taking a
// burst (limits.h). Must be called before more is queued.
bool slow_reader_is_over(struct shard *shard, struct peer *peer);
// Counts bytes that the kernel has taken for the peer. Costs one load for a peer that isn't late.
static inline void slow_reader_count_sent(struct peer *peer, uint32_t bytes) {
    if (__builtin_expect(peer->backlog_since != 0, false))
        peer->burst_bytes = peer->burst_bytes > UINT32_MAX - bytes ? UINT32_MAX : peer->burst_bytes + bytes;
}

// Watches the peer until neither reason holds any more.
void slow_reader_watch(struct shard *shard, struct peer *peer);
// Asks the kernel whether the peer has taken bytes since the last look. The first look of a send returns true: the time
// without progress counts from then on.
bool slow_reader_poll(struct shard *shard, struct peer *peer);
// Handles the shard's slow_reader_timer.
void slow_reader_look(struct shard *shard);
