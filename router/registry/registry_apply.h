// Changes of an order on one shard.
#pragma once

#include "router/registry/orders.h"

// The agent that an order is about, as this shard has it now; NULL: it has none.
struct agent *registry_apply_find(struct shard *shard, const struct order *order);
// Whether it is this connection's.
bool registry_apply_is_of(struct shard *shard, const struct order *order, uint64_t connection);
// Carries out here an order that is ORDER_APPLIED. Where there is no room or memory for a registration, the order becomes its
// opposite, and has the error. False: it is more than a turn does, and it is to be called again in the next one; until then
// no other order may be carried out.
bool registry_apply_order(struct shard *shard, struct order *order);
