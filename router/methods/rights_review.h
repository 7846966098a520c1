// Rights have changed while the hub runs: connections whose credential is gone are closed, what came by one and is held goes, and what of the others isn't
// allowed any more ends.
#pragma once

#include "router/engine/shard/shard.h"

// Looks at all connections of this shard, by the users that are in effect now.
void rights_review_all(struct shard *shard);
