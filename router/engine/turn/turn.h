// The event loop of a shard. A turn: take all events of the kernel → handle each event (receive → frame → lookup →
// route) → mail from other shards → timers → one send a destination → publish mail → submit to the kernel and wait.
#pragma once

#include "router/engine/shard/shard.h"

// Takes one turn. Returns false when the hub has stopped and this shard has nothing left to do.
bool turn_take(struct shard *shard);
