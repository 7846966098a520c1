#include "core/child/restart.h"

#include <assert.h>

bool restart_ended(struct restart *restart, const struct restart_policy *policy, uint64_t ran_ms, bool failed,
                   uint64_t *delay_ms) {
    assert(restart->failures <= restart->ends);
    if (ran_ms >= policy->healthy_ms)
        *restart = (struct restart){0};
    uint64_t delay = policy->delay_ms;
    for (uint32_t ends = restart->ends; ends > 0 && delay < policy->delay_max_ms; ends--)
        delay *= 2;
    *delay_ms = delay < policy->delay_max_ms ? delay : policy->delay_max_ms;
    restart->ends += restart->ends < UINT32_MAX;
    restart->failures += failed;
    return !failed || restart->failures <= policy->limit;
}
