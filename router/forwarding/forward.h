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
// Hands an event for other hubs to the link, for which forward_fault found no fault. Where the link's shard finds no room,
// the event counts as one that was not published (hub.events_dropped), of which the other hubs tell their subscribers.
void forward_event_remote(struct shard *shard, uint64_t link, struct parcel *parcel);
