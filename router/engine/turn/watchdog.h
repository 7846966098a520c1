// Tells the service manager that the hub is alive (WatchdogSec): as long as every shard takes its turns.
#pragma once

#include "router/engine/shard/shard.h"

// Begins to watch, on shard 0, where the settings name a period. A service manager that hears nothing within twice
// that period restarts the hub.
void watchdog_begin(struct shard *shard);
// The timer went off: tells, if every shard has taken a turn since the last time, and wakes those that sleep for the next.
void watchdog_look(struct shard *shard);
