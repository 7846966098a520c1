// How a hub introduces itself to its NATS server: who it is, and what it wants to hear, at first and as its agents change.
#pragma once

#include "router/features/cluster/link.h"

#define SERVICE_NAME "patchbay" // as which a hub shows among the services of NATS

enum { NATS_SIDS_OWN = 15 }; // subscriptions of the hub's own: the first ones

// CONNECT, what every hub subscribes to, and what its agents ask for; and PING, whose PONG says that all of it counts. Where it can't
// show who it is, its peer is closed, and why is told.
void nats_connect(struct link *link);
// SUB and UNSUB, as the registry asks for.
void nats_follow_registry(struct link *link);
