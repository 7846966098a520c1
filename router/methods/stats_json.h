// How the hub is, as the result of hub/stats.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"

// Appends it to `out`: an object in JSON.
void stats_json_write(struct shard *shard, struct text *out);
