// Decides which of a connection's orders to the registry may go out now (registry.h). Its agents and its own
// subscriptions may together have SUBSCRIPTIONS_PER_CONNECTION_MAX patterns and no more. A registration that
// would pass that must change nothing anywhere. The connection's own shard therefore judges it, before any
// other shard has seen it.
//
// Orders under way already count with all that they list, as nobody knows yet how they end. A registration
// that has room whatever comes of those goes out. Another one waits for them, and all orders behind it, so
// that they keep their order. One that has no room when it waits for none is refused.
#pragma once

#include "router/engine/shard/peer.h"
#include "router/registry/orders.h"

// An order of this shard's goes out, waits, or is refused, which is settled later, never in this call.
void admission_submit(struct shard *shard, struct order *order);
// A registration was applied, or had no room: what it lists is in force now, or never will be. On any shard.
void admission_applied(struct shard *shard, struct order *order);
// An order has come back: others may go out.
void admission_settled(struct shard *shard, const struct order *order);
// The peer can't answer any more: no registration of its goes out now.
void admission_leave(struct shard *shard, struct peer *peer);
