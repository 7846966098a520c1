// Peers that are waited for while they go on reading: those for which more than twice the queue's bound
// waits, and those that the hub closes once all is sent. A peer that takes nothing for a while is closed,
// whether or not anything more comes for it.
#pragma once

#include "router/engine/shard/peer.h"

// The bytes that may wait for one peer, in its queue and in exchanges: four times --max-queue, or 16 MiB if that is more.
uint64_t slow_reader_bytes_max(const struct shard *shard);
// Whether more waits in its queue than may, so that it is to be closed at once: as much, unless it came in a burst that the
// peer takes (limits.h). To be asked before more is queued.
bool slow_reader_is_over(struct shard *shard, struct peer *peer);
// The kernel has taken so many bytes more of what is sent to the peer. Costs a load for a peer that isn't behind.
static inline void slow_reader_count_sent(struct peer *peer, uint32_t bytes) {
    if (__builtin_expect(peer->late_at != 0, false))
        peer->burst_bytes = peer->burst_bytes > UINT32_MAX - bytes ? UINT32_MAX : peer->burst_bytes + bytes;
}

// From now on the peer is waited for, until neither is so any more.
void slow_reader_watch(struct shard *shard, struct peer *peer);
// Asks the kernel whether the peer has taken something since it was last asked. Where nobody had asked since the
// send began, or another one ended, it may have: how long it has taken nothing counts from now on.
bool slow_reader_ask(struct shard *shard, struct peer *peer);
// The shard's timer went off.
void slow_reader_look(struct shard *shard);
