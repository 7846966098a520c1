// The loop of a shard. A turn: harvest all that the kernel has → handle each event (feed → frame → lookup →
// route) → mail from other shards → timers → one send for each destination → publish mail → hand all of it to
// the kernel and wait.
#pragma once

#include "router/engine/shard/shard.h"

// One turn. False when the hub has stopped and this shard has nothing left to do.
bool turn_take(struct shard *shard);
