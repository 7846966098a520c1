// Rights have changed while the hub runs. Connections whose credential is gone are closed, and held messages
// that came by one go. Of the other connections, subscriptions and registrations that aren't allowed any more
// end.
#pragma once

#include "router/engine/shard/shard.h"

// Looks at all connections of this shard, by the users that are in effect now.
void rights_review_all(struct shard *shard);
