// Approved messages go on: once a turn, and not where the decision is read, which may be in the middle of
// other work.
#pragma once

#include "router/engine/shard/shard.h"

void gate_release_route(struct shard *shard);
