// What comes of a peer's time.
#pragma once

#include "router/shard/peer.h"

struct annex;

// Its timer went off.
void timing_expired(struct shard *shard, struct peer *peer);
// Its annex's did.
void timing_annex_expired(struct shard *shard, struct annex *annex);
