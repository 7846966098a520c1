// What becomes of children, once a turn.
#pragma once

#include "router/child/children.h"

// Goes on with those that have something to do.
void follow_all(struct shard *shard);
static inline void follow_children(struct shard *shard) {
    if (shard->children)
        follow_all(shard);
}
