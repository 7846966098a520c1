// The transport of the NATS server, on shard 0: receives what the server says, and other hubs through the server.
#pragma once

#include "router/features/cluster/link.h"

extern const struct transport transport_nats;
