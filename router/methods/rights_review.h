// Reviews all connections after rights have changed while the hub runs. A connection whose credential is gone is
// closed, and its held messages go. On all other connections, subscriptions and registrations end that aren't allowed
// any more.
#pragma once

#include "router/engine/shard/shard.h"

// Looks at all connections of this shard, by the users that are in effect now.
void rights_review_all(struct shard *shard);
