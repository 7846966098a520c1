// A child's name in the registry.
#pragma once

#include "router/features/children/child.h"

// Registers it, or anew, with these capabilities and this answer to initialize (JSON objects; NULL: what its
// section says, and none). False when memory is used up.
bool child_register(struct shard *shard, struct child *child, const struct piece *capabilities,
                    const struct piece *answer, bool resting);
// Registers a child so that nobody finds it and no other agent can have its name.
bool child_register_absent(struct shard *shard, struct child *child);
// Makes the order that will tell all shards that the child goes, before it comes, as there may be no memory
// then. False without memory.
bool child_prepare_leave(struct shard *shard, struct peer *seat);
// Says that the child goes for good: its record may be another's once all shards know that.
void child_leave_order(struct child *child);
// All that it owes ends, but for what hasn't gone out where `spare`. False when memory is used up.
bool child_rest(struct shard *shard, struct child *child, bool spare);
