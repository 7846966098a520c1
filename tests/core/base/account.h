// A key of hash tables; an account of kept memory without a bound that anybody reaches, and agents on it.
#pragma once

#include "core/agents/agents.h"

static const struct siphash_key TABLE_KEY = {{17, 4}};

static inline struct quota *account(void) {
    static struct buffer_budget budget = {.bytes_max = UINT64_C(1) << 40};
    static struct quota quota;
    if (!quota.budget)
        quota_init(&quota, &budget);
    return &quota;
}

// Puts an agent whose capabilities are this text.
static inline struct agent *put_offer(struct agents *agents, struct agent_profile *profile, const char *text,
                                      size_t bytes) {
    profile->capabilities = capabilities_create(agents->quota, text, bytes);
    struct agent *agent = profile->capabilities ? agents_put(agents, profile) : NULL;
    capabilities_drop(agents->quota, profile->capabilities);
    return agent;
}
