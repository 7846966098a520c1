// The log of slow requests (--slow-request).
#pragma once

#include "router/features/observe/observation.h"

// Whether the shard logs any.
static inline bool slow_log_is_on(const struct shard *shard) {
    return shard->settings->slow_request_ns > 0;
}
// Logs a request that has ended, if it took as long.
void slow_log_note(struct shard *shard, const struct observation *observation);
