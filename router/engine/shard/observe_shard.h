// What a shard keeps for those who look at what goes on (router/features/observe).
#pragma once

#include "core/base/list.h"

struct observe_shard {
    struct list queries; // struct pending_query.link: of hub/pending, that this shard works on
};
