// The state of the feature that shows what goes on, and its kinds of mail and timers.
#pragma once

#include "core/base/list.h"
#include "router/engine/shard/shard.h"
#include "router/features/feature_list.h"

enum observe_mail {
    OBSERVE_MAIL_PENDING, // hub/pending, from shard to shard (pending_list.h)
    OBSERVE_MAIL_TAP,     // a tap, likewise (tap.h)
    OBSERVE_MAIL_ENTRIES, // entries for a tap
    OBSERVE_MAIL_SENT,    // an observed request has gone to the kernel (observe.c)
};

enum observe_timer { OBSERVE_TIMER_TAP };

// The feature's own options (observe.c).
enum observe_option { OBSERVE_OPTION_SLOW_NS };

struct observation;

// A shard's.
struct observe_shard {
    struct list queries;          // struct pending_query.link: of hub/pending, that this shard works on
    uint32_t asked;               // queries of this shard's connections that are under way
    struct list taps;             // struct tap_share.link: of all taps of the hub, this shard's shares
    struct list own_taps;         // struct tap.link: of this shard's connections
    uint32_t tap_count;           // of shares
    uint32_t live;                // observations of requests under way
    struct observation *entering; // of the request that is being made ready; or NULL
    uint64_t number;              // of messages that were observed
    bool is_watched;              // the shard's messages are
};

// The hub's.
struct observe_hub {
    _Atomic uint32_t taps;        // that there are, or were until a moment ago
    _Atomic uint64_t tap_numbers; // that were given out
};

static inline struct observe_shard *observe_of(const struct shard *shard) {
    return shard->states[FEATURE_OBSERVE];
}
static inline struct observe_hub *observe_hub_of(const struct shard *shard) {
    return shard->hub->states[FEATURE_OBSERVE];
}
