// The counters and gauges as Prometheus reads them: text exposition, version 0.0.4.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/shard.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"

// Appends all of them to `out`. To be called on any shard's thread; what the others have counted is read as it
// is. Labels are of fixed sets alone. Asks for surveys (survey.h), by which some gauges are known.
void metrics_write(struct shard *shard, struct text *out);
