// What stands before requests to one agent at another hub that go out together, as one message between hubs (core/cluster/bundle.h): kept by
// the shard whose sources ask, so that none of them is looked up or written for each.
#pragma once

#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Has a request go out as one of several. False: it is to go as a message of its own, and nothing has changed.
bool bundle_head_cache_address(struct shard *shard, const struct message *message, struct parcel *parcel,
                               const struct remote_target *to, uint64_t hub_id, uint32_t time_ms);
