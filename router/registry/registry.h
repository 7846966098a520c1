// The registry of agents. Each shard has an equal copy.
//
// A change is an order. Shard 0 puts orders into sequence: shard 0 decides an order, applies it, and hands it to shard
// 1. Shard 1 hands the order to shard 2, and so on. The last shard hands the order back to the shard it came from,
// which answers the peer. Mail between two shards stays in order, so that every shard applies all orders in the same
// sequence. When a peer reads the answer, its agent can be reached from everywhere.
//
// Shard 0 checks the quota for the copies of all shards (core/agents/agents.h). The connection's own shard checks the
// limit of patterns before the order goes out (orders.h). A refused order has changed nothing. A shard without memory
// to apply an order turns the order into its opposite and sends it round once more.
#pragma once

#include "router/registry/orders.h"

// Sends an order. Takes the order.
//
// When a child's program has ended and starts again, the requests to the old program end, and later requests wait for
// the next program (ORDER_CHILD_STOPPED). Requests that are under way between shards can't be seen from the child's
// shard. So each shard in turn marks its own requests, and the order comes back behind these requests, since mail stays
// in order. If the hub itself has ended the program, requests that were not sent yet stay.
void registry_submit(struct shard *shard, struct order *order);
// Takes the next step of an order that came by mail. Returns false if that is more than a turn does: then the same
// order must go on in the next turn, before other orders.
bool registry_step(struct shard *shard, struct order *order);
// Ends the wait of an order in shard->barrier, on shard 0: the order is answered.
void registry_confirmed(struct shard *shard, struct order *order);
// Ends the wait of a registration in shard->claims, on shard 0. `is_taken`: another hub holds the name.
void registry_claimed(struct shard *shard, struct order *order, bool is_taken);
// Unregisters an agent, on shard 0, since another hub has the name. `link`: the connection to the NATS server. Returns
// false without memory.
bool registry_yield(struct shard *shard, uint64_t link, const struct agent *agent);
// Unregisters the agents of a peer that can't answer any more. Called at most once a peer.
void registry_leave(struct shard *shard, struct peer *peer);
