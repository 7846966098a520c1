// hub/stats and hub/ping: how the hub is, and that it is.
#pragma once

#include "router/engine/message/message.h"

void status_stats(struct shard *shard, const struct message *message);
void status_ping(struct shard *shard, const struct message *message);
