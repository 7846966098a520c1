// Handles the timers of peers.
#pragma once

#include "router/engine/shard/peer.h"

struct peer_cold;
struct identity;

// Handles the end of the peer's timer.
void peer_timeouts_expired(struct shard *shard, struct peer *peer);
// Handles the end of the transport's timer of a peer.
void peer_timeouts_transport_expired(struct shard *shard, struct peer_cold *cold);
// Handles the end of the identity's timer: a wrong credential is answered, or no credential has come in time. A peer in
// the middle of a frame, or of a TLS handshake, is late with that, and is told that.
void peer_timeouts_identity_expired(struct shard *shard, struct identity *identity);
