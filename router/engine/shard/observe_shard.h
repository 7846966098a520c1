// State of a shard for those who watch it (router/features/observe).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/list.h"

struct observation;

struct observe_shard {
    struct list queries;          // struct pending_query.link: of hub/pending, that this shard works on
    struct list taps;             // struct tap_share.link: of all taps of the hub, this shard's shares
    struct list own_taps;         // struct tap.link: of this shard's connections
    uint32_t tap_count;           // of shares
    uint32_t live;                // observations of requests under way
    struct observation *entering; // of the request that is being made ready; or NULL
    uint64_t number;              // of messages that were observed
    bool is_watched;              // the shard's messages are
};
