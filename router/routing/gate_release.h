// Approved messages go on: once a turn, and not where the decision is read, which may be in the middle of
// other work.
#pragma once

#include "router/engine/shard/shard.h"

void gate_release_route(struct shard *shard);
// The same, once a turn.
static inline void gate_release_follow(struct shard *shard) {
    if (shard->gate && !list_empty(&shard->gate->released))
        gate_release_route(shard);
}
