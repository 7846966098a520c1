// Decides whether a message goes to other hubs: no agent of this hub can take the message, or agents of other hubs want
// a copy. Routing asks this module alone.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Takes a message without a target at this hub to other hubs, or refuses it. Returns false if no other hub can have the
// target.
bool remote_route_takes(struct shard *shard, const struct message *message,
                        const struct rules_message *criteria, const struct rules_verdict *verdict);
// Sends a copy of an event or notification to all other hubs. `parcel` NULL: there was no memory for the copy. A copy
// that can't be sent is counted, and the other hubs are told of lost events. Returns whether the copy was sent.
bool remote_route_copy(struct shard *shard, const struct message *message, struct parcel *parcel,
                       const struct remote_target *to);
// Sends a decision to the hub that holds the message under this checkpoint.
void remote_route_decision(struct shard *shard, const struct message *message, const struct hub_name *hub,
                           const char *checkpoint, size_t bytes);
// Publishes an event of this hub to all other hubs: `body` is the event's data, as JSON. `event` NULL: `body` is a
// whole event about a held message, for approvers. An event that can't be sent is counted, and the other hubs are told.
void remote_route_announce(struct shard *shard, const char *event, const struct text *body);
// Returns whether another hub holds a request of this peer under this checkpoint.
bool remote_route_holds(const struct peer *peer, const char *checkpoint, size_t bytes);
