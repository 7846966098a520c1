// Counts messages that aren't delivered, by reason, and fires a probe.
#pragma once

#include <assert.h>

#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/probe.h"
#include "router/engine/shard/shard.h"

// Counts `count` messages that weren't delivered. `connection` is the messages' target or, if the target isn't known,
// their source. `bytes` is the sum of their frames or bodies. `count` is 0 for a part of a frame that is counted with
// another part.
static inline void drop_several(struct shard *shard, unsigned counter, uint64_t connection, size_t bytes,
                                uint32_t count) {
    assert(counter >= COUNT_DROP_EVENT_OVERLOADED);
    assert(counter <= COUNT_DROP_NO_MEMORY || counter >= COUNTERS_COUNT); // a feature's
    if (count)
        PROBE(drop, connection, bytes, counter);
    stats_add(&shard->stats, counter, count);
}
static inline void drop_one(struct shard *shard, unsigned counter, uint64_t connection, size_t bytes) {
    drop_several(shard, counter, connection, bytes, 1);
}
