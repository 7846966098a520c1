// What comes of a peer's time.
#pragma once

#include "router/shard/peer.h"

// Its timer went off.
void timing_expired(struct shard *shard, struct peer *peer);
