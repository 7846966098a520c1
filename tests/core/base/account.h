// A key of hash tables; an account of kept memory without a bound that anybody reaches, and agents on it.
#pragma once

#include "core/agents/agents.h"

static const struct siphash_key TABLE_KEY = {{17, 4}};

static inline struct quota *account(void) {
    static struct buffer_budget budget = {.bytes_max = UINT64_C(1) << 40};
    static struct quota kept;
    if (!kept.budget)
        quota_init(&kept, &budget);
    return &kept;
}

// Puts an agent whose capabilities are this text.
static inline struct agent *put_offer(struct agents *agents, struct agent_offer *offer, const char *text,
                                      size_t bytes) {
    offer->capabilities = capabilities_create(agents->kept, text, bytes);
    struct agent *agent = offer->capabilities ? agents_put(agents, offer) : NULL;
    capabilities_drop(agents->kept, offer->capabilities);
    return agent;
}
