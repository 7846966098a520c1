// Registers children.
#pragma once

#include "router/features/children/child.h"

// Registers a child, for the first time or anew. `capabilities` are a JSON object or array; NULL: the section's.
// `answer` is the result of initialize; NULL: none. `resting`: the program doesn't run, and messages wait. Returns
// false without memory.
bool child_register(struct shard *shard, struct child *child, const struct piece *capabilities,
                    const struct piece *answer, bool resting);
// Registers a child so that no message finds the child, and no other agent can have its name. Returns false without
// memory.
bool child_register_absent(struct shard *shard, struct child *child);
// Makes in advance the order that will tell all shards that the child goes, as there may be no memory then. Returns
// false without memory.
bool child_prepare_leave(struct shard *shard, struct peer *stub);
// Prepares that order for a child that is freed: another child may have the record once all shards know.
void child_leave_order(struct child *child);
// Ends the requests that the child owes. `spare`: not those that weren't sent. Returns false without memory.
bool child_rest(struct shard *shard, struct child *child, bool spare);
