// Answers hub/stats and hub/ping.
#pragma once

#include "core/base/text.h"
#include "router/engine/message/message.h"

void status_stats(struct shard *shard, const struct message *message);
void status_ping(struct shard *shard, const struct message *message);
// Appends the result of hub/stats to `out`: an object in JSON.
void status_write(struct shard *shard, struct text *out);
