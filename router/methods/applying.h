// What an order changes on one shard.
#pragma once

#include "router/methods/orders.h"

// The agent that an order is about, as this shard has it now; NULL: it has none.
struct agent *applying_find(struct shard *shard, const struct order *order);
// Carries out here an order that is ORDER_APPLIED. Where there is no room or memory for a registration, the order becomes its
// opposite, and has the error.
void applying_apply(struct shard *shard, struct order *order);
