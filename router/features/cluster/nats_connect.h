// How a hub introduces itself to its NATS server: who it is, and what it wants to hear, at first and as its agents change.
#pragma once

#include "router/features/cluster/link.h"

#define SERVICE_NAME "patchbay" // as which a hub shows among the services of NATS

enum { NATS_SIDS_OWN = 11 }; // subscriptions of the hub's own: the first ones

// CONNECT, what every hub subscribes to, and what its agents ask for; and PING, whose PONG says that all of it counts. Where it can't
// show who it is, its peer is closed, and why is told.
void nats_connect(struct link *link);
// SUB and UNSUB, as the registry asks for.
void nats_follow_registry(struct link *link);
// The names move to another REALM, and stay under the former one, too (bytes 0: not).
void nats_move_realm(struct link *link, const struct realm *realm, const struct realm *former);
// The hub drains: nobody is to find the names any more.
void nats_withdraw(struct link *link);
