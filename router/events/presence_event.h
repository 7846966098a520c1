// Events of agents that have come and gone (router/registry/presence.h).
#pragma once

#include "router/engine/shard/shard.h"

// Publishes changes that were noted, in their order, as long as there is room for events.
void presence_event_publish(struct shard *shard);
// The same, once a turn.
static inline void presence_event_follow(struct shard *shard) {
    const struct presence_queue *queue = &shard->presence;
    if (!list_empty(&queue->changes) || queue->missed_came + queue->missed_went > 0)
        presence_event_publish(shard);
}
