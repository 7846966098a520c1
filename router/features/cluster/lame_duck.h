// A link whose server was to go, once another one has come in its place: its subscriptions stay beside the new ones for a while, since
// what was published before may be on its way to them still; then it ends what it has under way, and goes. So nothing is lost by it,
// unless its server goes first.
#pragma once

#include "router/features/cluster/link.h"

// Its timer went off, and it is UP.
void lame_duck_look(struct shard *shard, struct link *link);
