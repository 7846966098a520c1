// Messages that aren't delivered: counted under their reason, and shown to a tracer that has switched the
// probe on.
#pragma once

#include <assert.h>

#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/probe.h"
#include "router/engine/shard/shard.h"

// `connection` is whom it was for, or, where that isn't known, whom it came from; `bytes` those of the frame
// or its body, all of them together where `count` is more than one. 0: what stands before others is no message itself.
static inline void drop_several(struct shard *shard, unsigned counter, uint64_t connection, size_t bytes,
                                uint32_t count) {
    assert(counter >= COUNT_DROP_EVENT_OVERLOADED);
    assert(counter <= COUNT_DROP_NO_MEMORY || counter >= COUNTERS_COUNT); // a feature's
    if (count)
        PROBE(drop, connection, bytes, counter);
    stats_add(&shard->stats, counter, count);
    feature_message_dropped(shard, counter, connection, count);
}
static inline void drop_one(struct shard *shard, unsigned counter, uint64_t connection, size_t bytes) {
    drop_several(shard, counter, connection, bytes, 1);
}
