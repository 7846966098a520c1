// The handshake with the NATS server: the server's INFO, the hub's credentials, and the subscriptions, at first and
// when agents change.
#pragma once

#include "router/features/cluster/link.h"

#define SERVICE_NAME "patchbay" // the hub's name among the services of NATS

enum { NATS_SIDS_OWN = 11 }; // number of the hub's own subscriptions, which come first

// Takes an INFO of the server: the first, or a later one.
void nats_handshake_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument);
// Begins TLS at the end of the turn in which INFO came.
void nats_handshake_secure(struct link *link);
// Sends SUB and UNSUB until the subscriptions match the registry. A hub that drains removes the subscriptions of all
// names.
void nats_follow_registry(struct link *link);
