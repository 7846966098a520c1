// Enforces --max-queue, the bound of the bytes that wait for one peer: in its outbox, and in exchanges that have not
// ended. The caller refuses a request or drops a notification for a full queue. A peer far past the bound is closed.
#pragma once

#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer.h"

// Returns whether a request or notification may still be queued for the peer.
bool queue_limit_has_room(const struct shard *shard, const struct peer *peer);
// Returns whether an urgent message may be queued for the peer: less than the bound waits of urgent messages alone.
bool queue_limit_has_room_for_urgent(const struct shard *shard, const struct peer *peer);
// Closes the peer if too many bytes wait (slow_reader_is_over), also in exchanges without `own_bytes`, or too many
// parcels (outbox_is_over). Returns whether the peer was closed. Answers pass a full queue, so each send calls this
// before it adds.
bool queue_limit_close(struct shard *shard, struct peer *peer, size_t own_bytes);
// Returns whether twice the bound waits for the peer, which must go on reading then (slow_reader.h).
bool queue_limit_is_past_grace(const struct shard *shard, const struct peer *peer);
// Returns whether the peer isn't read until it has read: CONFINED_BYTES_MAX bytes wait for a confined peer.
bool queue_limit_pauses_reads(struct peer *peer);

// Returns the bytes that wait for the peer, also in exchanges that have not ended.
static inline size_t queue_limit_waiting(const struct peer *peer) {
    return connection_waiting(&peer->connection) + peer->exchange_bytes;
}
// Pauses the reading of a confined peer for which enough waits: the answers are to the peer's own messages.
static inline void queue_limit_confine(struct shard *shard, struct peer *peer) {
    if (__builtin_expect(shard->settings->users != NULL, false) &&
        queue_limit_waiting(peer) >= CONFINED_BYTES_MAX && identity_is_confined(shard, peer))
        peer->reads_paused = true;
}
