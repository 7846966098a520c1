// Actions near the hub's bound of memory: the slowest readers are closed, then sources wait.
#pragma once

#include "router/engine/shard/shard.h"

// Once a turn. While little of the budget is left, or a buffer was refused, gives back memory at rest here,
// and closes the slowest reader of this shard. Readers are closed one at a time, so that memory can come home
// before another one goes. Otherwise sees to it that memory at rest is looked at within a second.
void pressure_relieve(struct shard *shard);
// The shard's shrink_timer has expired: gives back what wasn't needed since it was armed.
void pressure_shrink(struct shard *shard);
