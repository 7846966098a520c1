// Work on children, once a turn.
#pragma once

#include "router/features/children/children.h"

// Goes on with those that have something to do.
void child_turn_all(struct shard *shard);
static inline void child_turn(struct shard *shard) {
    if (shard->children)
        child_turn_all(shard);
}
