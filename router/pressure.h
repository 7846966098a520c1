// What happens near the hub's bound of memory: the slowest readers are closed, then sources wait.
#pragma once

#include "router/shard.h"

// Once a turn. Each second, gives back what wasn't needed in it. While little of the budget is left, or a
// buffer was refused: gives back what lies at rest here, and closes the slowest reader of this shard, one at
// a time, so that what it held can come home before another one goes.
void pressure_relieve(struct shard *shard);
