// Calls the features of a hub (feature.h).
#pragma once

#include "router/engine/shard/feature.h"
#include "router/engine/shard/shard.h"

static inline bool feature_is_on(const struct shard *shard, unsigned number) {
    assert(number < FEATURES_MAX);
    return shard->features->by_number[number] != NULL;
}

// One function for each hook: feature_drain(shard), and so on.
#define X(function, parameters, arguments)                                                                   \
    static inline void feature_##function parameters {                                                       \
        for (unsigned at = 0; shard->features->function[at]; at++)                                           \
            shard->features->function[at] arguments;                                                         \
    }
FEATURE_HOOKS(X)
#undef X
#define X(function, parameters, arguments)                                                                   \
    static inline bool feature_##function parameters {                                                       \
        for (unsigned at = 0; shard->features->function[at]; at++)                                           \
            if (shard->features->function[at] arguments)                                                     \
                return true;                                                                                 \
        return false;                                                                                        \
    }
FEATURE_QUESTIONS(X)
#undef X

// Returns the member of a pool that a peer's messages go to: `agent`, unless a feature chooses another member.
static inline struct agent *feature_choose(struct shard *shard, struct peer *peer, struct agent *agent) {
    for (unsigned at = 0; shard->features->choose[at]; at++)
        agent = shard->features->choose[at](shard, peer, agent);
    return agent;
}

// Begins or ends watching on this shard: features with is_watcher are called only while the shard is watched.
static inline void feature_set_observed(struct shard *shard, bool watched) {
    shard->features = watched ? shard->hub->features_watched : shard->hub->features;
}

// Starts all features, on shard 0. Returns NULL, or static text that names what there is no memory for.
const char *feature_start(struct shard *shard);
// Hands mail, a timer or an event to its feature.
void feature_take_mail(struct shard *shard, struct mail *mail);
void feature_take_timer(struct shard *shard, struct timer *timer);
void feature_take_event(struct shard *shard, const struct io_event *event);
