// How the hub and its NATS server come to know each other: what the server says of itself, who the hub is, and what the hub wants to hear,
// at first and as its agents change.
#pragma once

#include "router/features/cluster/link.h"

#define SERVICE_NAME "patchbay" // as which a hub shows among the services of NATS

enum { NATS_SIDS_OWN = 11 }; // subscriptions of the hub's own: the first ones

// INFO came, the first one or another.
void nats_handshake_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument);
// The turn in which INFO came ends, and TLS begins.
void nats_handshake_secure(struct link *link);
// SUB and UNSUB, as the registry asks for; of a hub that drains nobody is to find the names any more.
void nats_follow_registry(struct link *link);
