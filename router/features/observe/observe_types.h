// The state of the feature that shows messages and requests, and its kinds of mail and timers.
#pragma once

#include "core/base/list.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"

enum observe_mail {
    OBSERVE_MAIL_PENDING, // a query of hub/pending goes from shard to shard (pending_list.h)
    OBSERVE_MAIL_TAP,     // a tap goes from shard to shard (tap.h)
    OBSERVE_MAIL_ENTRIES, // entries for a tap
    OBSERVE_MAIL_SENT,    // an observed request was handed to the kernel (observe.c)
};

enum observe_timer { OBSERVE_TIMER_TAP };

// The feature's own options (observe.c).
enum observe_option { OBSERVE_OPTION_SLOW_NS };

struct observation;

// The state of a shard.
struct observe_shard {
    struct list queries;  // struct pending_query.link: the queries of hub/pending that are at this shard
    uint32_t asked;       // queries of this shard's connections under way
    struct list taps;     // struct tap_share.link: this shard's shares of all taps of the hub
    struct list own_taps; // struct tap.link: the taps of this shard's connections
    uint32_t tap_count;   // shares in `taps`
    uint32_t live;        // observations of requests under way
    struct observation *entering; // the observation of the request that is being made ready; or NULL
    uint64_t number;              // messages that this shard has observed
    bool is_watched;              // the shard's messages are watched (feature_set_observed)
};

// The state that all shards share.
struct observe_hub {
    _Atomic uint32_t taps;        // taps that are open, or whose shares aren't all freed yet
    _Atomic uint64_t tap_numbers; // numbers of taps that were given out
};

static inline struct observe_shard *observe_of(const struct shard *shard) {
    return shard->states[FEATURE_OBSERVE];
}
static inline struct observe_hub *observe_hub_of(const struct shard *shard) {
    return shard->hub->states[FEATURE_OBSERVE];
}
