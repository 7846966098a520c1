// Responses to requests: from the peer that was asked to the shard of its source.
#pragma once

#include "router/engine/message/message.h"

// Whether a message is one, be it broken.
bool responses_is(const struct shard *shard, const struct message *message);
void responses_route(struct shard *shard, const struct message *message);
// Ends a request to this peer under this hub id with a notification of the peer: the source gets that, with
// its own id in the place of the value at `id`. Or the hub itself ends it, with an error in the words of its
// target. `detail` is of enum answer_detail.
void responses_end(struct shard *shard, struct peer *peer, const struct frame *frame, struct span id,
                   uint64_t hub_id, uint8_t detail);
// An answer to a request that was sent to other hubs under this hub id has come, and goes to its source. False: it is none that can be
// used; then nothing has happened. Without memory the link is closed.
bool responses_deliver(struct shard *shard, struct peer *link, const struct frame *frame, uint64_t hub_id);
