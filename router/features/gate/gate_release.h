// Routes approved messages once a turn. A decision may be read in the middle of other work, so approved messages aren't
// routed there.
#pragma once

#include "router/engine/shard/shard.h"

void gate_release_route(struct shard *shard);
