// What comes of a peer's time.
#pragma once

#include "router/engine/shard/peer.h"

struct annex;
struct identity;

// Its timer went off.
void peer_timeouts_expired(struct shard *shard, struct peer *peer);
// Its annex's did.
void peer_timeouts_annex_expired(struct shard *shard, struct annex *annex);
// Its identity's did: a wrong credential is answered, or none has come in time. Who is in the middle of a frame then is
// told, as any that is late with one; a handshake that isn't over is what was late, and no credential.
void peer_timeouts_identity_expired(struct shard *shard, struct identity *identity);
