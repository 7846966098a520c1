// Whether what an order asks for may be, as far as is known on shard 0.
#pragma once

#include "router/registry/orders.h"

// ERROR_NONE, or why it may not, with the limit in the order that it is for.
enum error registry_check_order(struct shard *shard, struct order *order);
// Whether a registration may take a name from whoever has it, or asks for it. Where users are on, nobody takes another one's.
bool registry_check_may_follow(const struct shard *shard, const struct order *order,
                               const struct user *owner);
