// What the server says to the hub, and other hubs through it: its transport, on shard 0.
#pragma once

#include "router/features/cluster/link.h"

extern const struct transport transport_nats;
