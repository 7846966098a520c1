// Frees memory near --max-memory: closes the slowest readers, then lets sources wait.
#pragma once

#include "router/engine/shard/shard.h"

// Gives back unused memory of this shard and closes its slowest reader, while little of the budget is left or a buffer
// was refused. Closes one reader at a time, so that memory can come back before the next reader is closed. Otherwise
// arms shrink_timer. Called once a turn.
void pressure_relieve(struct shard *shard);
// Handles the shard's shrink_timer: gives back memory that wasn't used since the timer was armed.
void pressure_shrink(struct shard *shard);
