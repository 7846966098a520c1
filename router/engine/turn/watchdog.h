// Tells the service manager that the hub is alive (WatchdogSec), as long as every shard takes its turns.
#pragma once

#include "router/engine/shard/shard.h"

// Begins to watch, on shard 0, where the settings name a period. A service manager that hears nothing within twice
// that period restarts the hub.
void watchdog_begin(struct shard *shard);
// Handles watchdog_timer: tells the service manager if every shard has taken a turn since the last time. Wakes the
// shards that sleep.
void watchdog_look(struct shard *shard);
