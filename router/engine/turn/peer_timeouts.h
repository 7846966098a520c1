// The ends of a peer's timers.
#pragma once

#include "router/engine/shard/peer.h"

struct peer_cold;
struct identity;

// Handles the end of the peer's timer.
void peer_timeouts_expired(struct shard *shard, struct peer *peer);
// The timer of its transport's own did.
void peer_timeouts_transport_expired(struct shard *shard, struct peer_cold *cold);
// Handles the end of the identity's timer: a wrong credential is answered, or none has come in time. A peer
// in the middle of a frame is told so, as any that is late with one. Where a handshake isn't over, the
// handshake is late, and no credential.
void peer_timeouts_identity_expired(struct shard *shard, struct identity *identity);
