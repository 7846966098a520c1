// Events that lie side by side in a receive buffer and go the same way: they are gathered, to go out together
// (events.c).
#pragma once

#include "router/message.h"
#include "router/shard.h"

// Adds an event to the run; one that goes another way, or lies elsewhere, begins the next run.
void event_run_add(struct shard *shard, const struct message *message, const char *name, uint32_t name_bytes);
