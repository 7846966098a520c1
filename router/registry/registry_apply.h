// Applies orders on one shard.
#pragma once

#include "router/registry/orders.h"

// Returns the agent of an order on this shard; NULL: there is none.
struct agent *registry_apply_find(struct shard *shard, const struct order *order);
// Returns whether that agent is of this connection.
bool registry_apply_is_of(struct shard *shard, const struct order *order, uint64_t connection);
// Applies an order in ORDER_APPLIED on this shard. Without quota or memory for a registration, the order becomes its
// opposite and gets the error. Returns false if the work is more than a turn does: then the call must be repeated in
// the next turn, before other orders.
bool registry_apply_order(struct shard *shard, struct order *order);
