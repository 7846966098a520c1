// Registered agents, kept the same on all shards.
//
// A change is an order. Shard 0 puts orders into sequence: shard 0 decides an order, applies it, and hands it to shard 1.
// Shard 1 hands the order to shard 2, and so on. The last shard hands the order back to the shard it came from, which
// answers the peer. Mail between two shards stays in order, so that every shard applies all orders in the same sequence.
// When a peer reads the answer, its agent can be reached from everywhere.
//
// Shard 0 judges whether there is room for what all shards would keep (core/agents/agents.h). The
// connection's own shard judges whether its agents together would list too many patterns of events, before
// the order goes out (orders.h). A refused order ends without having changed anything. Another shard that
// has no memory to apply an order turns it into its opposite and sends it round once more.
#pragma once

#include "router/registry/orders.h"

// Sends an order on its way; the registry has it from now on.
//
// When a program has ended and its child goes on, the program's requests end, and later ones wait for the
// next program (ORDER_REST). Requests between shards can't be seen from the child's shard then. Each shard in
// turn is therefore told to mark its own requests, and the order comes back behind all of them, as mail stays
// in order. Where the hub itself has ended the program, requests that wait at the child, and so haven't gone
// out, are spared.
void registry_submit(struct shard *shard, struct order *order);
// Takes the next step of an order that came by mail. False: it is more than a turn does, and the same order is to go on in the
// next one, before all others.
bool registry_step(struct shard *shard, struct order *order);
// Shard 0, of an order that has waited in shard->confirming: it waits no more, and is answered.
void registry_confirmed(struct shard *shard, struct order *order);
// Shard 0, of a registration that has waited in shard->asking: others hold the name, or nobody does as far as is known.
void registry_claimed(struct shard *shard, struct order *order, bool is_taken);
// Shard 0: an agent yields its name to one at another hub. False: there is no memory for it. `link`: the link's peer.
bool registry_yield(struct shard *shard, uint64_t link, const struct agent *agent);
// The agents of a peer that can't answer any more leave: at most once a peer.
void registry_leave(struct shard *shard, struct peer *peer);
