// Enforces --max-queue: what may wait for one peer, in its outbox and in exchanges that have not ended. A request or a
// notification for a full queue is refused or dropped by the caller; a peer far past the bound is closed.
#pragma once

#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer.h"

// Whether a request or notification may still be queued for this peer.
bool queue_limit_has_room(const struct shard *shard, const struct peer *peer);
// Whether the peer's queue takes what passes a full queue: while less than the bound waits of that.
bool queue_limit_has_room_for_urgent(const struct shard *shard, const struct peer *peer);
// Closes a peer for which too much waits (slow_reader_is_over), as much in exchanges, besides `own_bytes`, or too many
// parcels (outbox_is_over). Whether the peer was closed. Answers pass a full queue, so that each send asks before it adds.
bool queue_limit_close(struct shard *shard, struct peer *peer, size_t own_bytes);
// Whether twice the bound waits for the peer: it must go on reading then (slow_reader.h).
bool queue_limit_is_past_grace(const struct shard *shard, const struct peer *peer);
// Whether what the peer sends waits until it reads: CONFINED_BYTES_MAX wait for it, and no more may.
bool queue_limit_pauses_reads(struct peer *peer);

// Returns the bytes of all that waits for the peer, also in exchanges that have not ended.
static inline size_t queue_limit_waiting(const struct peer *peer) {
    return connection_waiting(&peer->connection) + peer->exchange_bytes;
}
// Notes that more waits for the peer. Where little may wait for it, nothing more is read of it meanwhile,
// since its answers are what it asked for.
static inline void queue_limit_confine(struct shard *shard, struct peer *peer) {
    if (__builtin_expect(shard->settings->users != NULL, false) &&
        queue_limit_waiting(peer) >= CONFINED_BYTES_MAX && identity_is_confined(shard, peer))
        peer->reads_paused = true;
}
