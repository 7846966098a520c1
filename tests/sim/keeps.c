#include "tests/sim/keeps.h"

#include "router/features/cluster/link.h"

size_t keeps_sought(const struct hub *hub) {
    size_t count = 0;
    for (uint32_t shard = 0; shard < hub->settings.shard_count; shard++)
        count += hub->shards[shard]->sought.by_number.count;
    const struct link *link = hub->shards[0]->link;
    return count + (link ? link->fallback_watch.by_number.count : 0);
}
