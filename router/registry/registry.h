// Who is registered, kept the same on all shards.
//
// A change is an order. Shard 0 puts orders into sequence: it decides an order, applies it, and hands it to
// shard 1, that one to shard 2, and so on; the last one hands it back to the shard it came from, which
// answers the peer. Mail between two shards stays in order, so every shard applies all orders in the same
// sequence, and an agent is reachable from everywhere when it reads its answer. Whether there is
// room for what all shards would keep is judged by shard 0 (core/agents/agents.h), and whether the
// connection's agents together would list too many patterns of events by its own shard, before the order goes
// out (admission.h): what is refused ends without having changed anything. Another shard that has no memory to
// apply an order turns it into its opposite and sends it round once more.
#pragma once

#include "router/registry/orders.h"

// Of a program that has ended, and whose child goes on, what it had ends, and what comes later waits for the next one
// (ORDER_REST). What is between shards then can't be seen from its shard: so each shard in turn is told to mark what it
// has asked, and the order comes back behind all of that, as mail stays in order. Where the hub itself has ended the
// program, what waits at the child then, and so hasn't gone out, is spared.
//
// Sends an order on its way; the registry has it from now on.
void registry_submit(struct shard *shard, struct order *order);
// Takes the next step of an order that came by mail. False: it is more than a turn does, and the same order is to go on in the
// next one, before all others.
bool registry_step(struct shard *shard, struct order *order);
// Shard 0, of an order that has waited in shard->confirming: it waits no more, and is answered.
void registry_confirmed(struct shard *shard, struct order *order);
// Shard 0, of a registration that has waited in shard->asking: others hold the name, or nobody does as far as is known.
void registry_asked(struct shard *shard, struct order *order, bool held);
// Shard 0: an agent yields its name to one at another hub. False: there is no memory for it. `link`: the link's peer.
bool registry_yield(struct shard *shard, uint64_t link, const struct agent *agent);
// The agents of a peer that can't answer any more leave: at most once a peer.
void registry_leave(struct shard *shard, struct peer *peer);
