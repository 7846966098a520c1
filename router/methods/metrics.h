// Writes the counters and gauges for Prometheus: text exposition, version 0.0.4.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

// Appends all metrics to `out`, on any shard's thread. Reads the other shards' counters as they are. Labels are of
// fixed sets alone. Some gauges need a survey, which this call asks for (survey.h).
void metrics_write(struct shard *shard, struct text *out);
