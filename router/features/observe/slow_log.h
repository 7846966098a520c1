// The log of slow requests (--slow-request).
#pragma once

#include "router/features/observe/observation.h"
#include "router/features/observe/observe_types.h"

// Returns the shortest time of a request that is logged, in ns; 0: no request is logged.
static inline uint64_t slow_log_from_ns(const struct shard *shard) {
    return shard->settings->own[FEATURE_OBSERVE][OBSERVE_OPTION_SLOW_NS];
}
// Returns whether the shard logs slow requests.
static inline bool slow_log_is_on(const struct shard *shard) {
    return slow_log_from_ns(shard) > 0;
}
// Logs a request that has ended, if it took that time or longer.
void slow_log_note(struct shard *shard, const struct observation *observation);
