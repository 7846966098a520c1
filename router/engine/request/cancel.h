// Cancels of requests. A peer's cancel ($/cancelRequest of LSP, notifications/cancelled of MCP) names the peer's own id
// of the request; the target knows the hub's id. A request that still waits in the target's queue is taken out and
// answered `cancelled`. Otherwise the cancel passes the queue and goes to the target. The hub itself cancels when a
// source leaves or a request times out.
#pragma once

#include "router/engine/shard/shard.h"

// Sends a cancel to the target of a request, once a request. Takes the parcel. `source_waits`: the source waits for an
// answer. Returns true if the request was in a queue of this shard: then the caller must answer `cancelled`. If the
// request was in another shard's queue, MAIL_CANCELLED says so later.
bool cancel_send(struct shard *shard, struct pending *pending, struct parcel *parcel, bool source_waits);
// Cancels a request at its target because nobody waits for it any more. The caller ends it.
void cancel_abandoned(struct shard *shard, struct pending *pending);
// Returns whether a cancel ends this request without an answer, as in MCP.
bool cancel_is_end(struct shard *shard, const struct pending *pending);
// Takes a request out of the queue of a peer of this shard. Returns false if the request doesn't wait there any more.
bool cancel_withdraw(struct shard *shard, struct peer *peer, uint64_t hub_id);
// Handles a cancel on the target's shard. Takes the parcel. Returns true as cancel_send does.
bool cancel_handle_mail(struct shard *shard, struct parcel *parcel);
// Handles a cancel of a request that this peer has. Returns true if the request was taken out of the peer's queue: the
// caller still owns the parcel. False: the parcel was queued for the peer, or dropped.
bool cancel_in_queue_or_forward(struct shard *shard, struct peer *peer, struct parcel *parcel);
// Reports that the request of this cancel was taken out of the queue: sends the cancel back to the source's shard.
// Returns true as cancel_send does.
bool cancel_return_to_source(struct shard *shard, struct parcel *parcel);
