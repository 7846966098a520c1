// A message on its way to an agent: under an id of the hub's own if it is a request.
#pragma once

#include "core/base/errors.h"
#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Returns the reason why a target, a connection, can't take one more message now, as far as this shard knows;
// ERROR_NONE when there is none.
enum error forward_fault(struct shard *shard, const struct message *message, uint64_t target);
// Hands a request to an agent, or where that is NULL to the target that `to` names at other hubs, and remembers the
// source. A request that can't be handed over is answered with an error.
void forward_request(struct shard *shard, const struct message *message, struct agent *agent,
                     const struct remote_target *to);
// Hands a notification to an agent or to other hubs; one that can't be handed over is counted. A notification that
// was made out of a request loses its id.
void forward_notification(struct shard *shard, const struct message *message, struct agent *agent,
                          const struct remote_target *to);
// A message as it goes to who gets no id with it; NULL without memory.
struct parcel *forward_without_id(struct shard *shard, const struct message *message);
// Hands a notification of this shard's to a connection, which need be no agent, or counts it as dropped.
void forward_to(struct shard *shard, uint64_t connection, struct parcel *parcel);
// Hands an event for other hubs to the link. False: it was dropped, and counted. Where the link's shard finds no room,
// the event counts as one that was not published (hub.events_dropped), of which the other hubs tell their subscribers.
bool forward_event_remote(struct shard *shard, uint64_t link, struct parcel *parcel);

// --- Responses
//
// Responses to requests: from the peer that was asked to the shard of its source.

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
