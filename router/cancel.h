// Cancelling. A peer's cancel ($/cancelRequest of LSP, notifications/cancelled of MCP) names the id that the
// peer chose; the target knows another one. It goes ahead of whatever waits for the target; a request that
// still waits there is taken out instead and answered `cancelled`. When a source leaves or a request times
// out, the hub cancels by itself.
#pragma once

#include "router/message.h"

// A peer cancels what it has asked. Ids that aren't pending are ignored: the answer may be on its way.
void cancel_request(struct shard *shard, const struct message *message);
// Cancels a request at its target because nobody waits for it any more. The caller ends it.
void cancel_downstream(struct shard *shard, struct pending *pending);
// A cancel has come to the target's shard; takes the parcel.
void cancel_arrived(struct shard *shard, struct parcel *parcel);
// It took the request out of the queue and is back at the source's shard; takes the parcel.
void cancel_came_home(struct shard *shard, struct parcel *parcel);
