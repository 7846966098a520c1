// All transports that a listener can have.
#pragma once

#include "router/engine/shard/transport.h"

// The transport that a listener's URI names; NULL: there is none. The empty name is the framed one's.
const struct transport *transport_table_find(const char *name);
