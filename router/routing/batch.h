// A batch as a whole.
#pragma once

#include "core/json/json.h"
#include "router/engine/message/message.h"

// Begins to walk over its members, whose values lie in `whole->body`.
void batch_walk(struct json_walk *walk, const struct message *batch);
// Whether it is refused as a whole: nothing of it is routed unless all of it is JSON, and it has one member or more, up to
// the limit.
bool batch_refuse(struct shard *shard, struct message *batch);
