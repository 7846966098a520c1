// Cancelling. A peer's cancel ($/cancelRequest of LSP, notifications/cancelled of MCP) names the id that the
// peer chose; the target knows another one. The cancel goes ahead of the target's queue. A request that still
// waits there is taken out instead and answered `cancelled`. When a source leaves or a request times out, the
// hub cancels by itself.
#pragma once

#include "router/engine/shard/shard.h"

// Sends a cancel on its way to the target of a request, once a request; takes the parcel. `answer`: the
// source waits for an answer. If the request was found in the target's queue it is then to be answered
// `cancelled`: by the caller where this returns true, else by MAIL_CANCELLED, which brings the parcel home.
bool cancel_dispatch(struct shard *shard, struct pending *pending, struct parcel *parcel, bool answer);
// Cancels a request at its target because nobody waits for it any more. The caller ends it.
void cancel_downstream(struct shard *shard, struct pending *pending);
// Cancels a request at its target while its source still waits for the answer. True when the request was taken out of
// a queue here: no answer comes, and the caller must answer.
bool cancel_at_target(struct shard *shard, struct pending *pending);
// Whether a cancel is the end of this request, which isn't answered then (MCP).
bool cancel_is_end(struct shard *shard, const struct pending *pending);
// A cancel has come to the target's shard; takes the parcel. True as cancel_dispatch.
bool cancel_arrived(struct shard *shard, struct parcel *parcel);
// A request was taken out of the queue for which this cancel came, which goes home to say so. True as cancel_dispatch.
bool cancel_home(struct shard *shard, struct parcel *parcel);
