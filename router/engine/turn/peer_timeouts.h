// The ends of a peer's timers.
#pragma once

#include "router/engine/shard/peer.h"

struct annex;
struct identity;

// Handles the end of the peer's timer.
void peer_timeouts_expired(struct shard *shard, struct peer *peer);
// Its annex's did.
void peer_timeouts_annex_expired(struct shard *shard, struct annex *annex);
// Handles the end of the identity's timer: a wrong credential is answered, or none has come in time. A peer
// in the middle of a frame is told so, as any that is late with one. Where a handshake isn't over, the
// handshake is late, and no credential.
void peer_timeouts_identity_expired(struct shard *shard, struct identity *identity);
