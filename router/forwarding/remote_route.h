// Decides whether a message goes to other hubs: nobody is here for it, or agents there want it, too. Routing asks
// this module alone.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Takes a message for which the rules found nobody here to another hub, if there could be somebody; it may have been refused. False:
// there couldn't.
bool remote_route_takes(struct shard *shard, const struct message *message,
                        const struct rules_message *criteria, const struct rules_verdict *verdict);
// Sends a copy of an event or a notice on its way to all other hubs; NULL: there was no memory for the copy. A copy
// that can't go is counted, and other hubs are told of lost events. Returns whether the copy goes.
bool remote_route_copy(struct shard *shard, const struct message *message, struct parcel *parcel,
                       const struct remote_target *to);
// Sends a decision to the hub that holds the message under this checkpoint.
void remote_route_decision(struct shard *shard, const struct message *message, const struct hub_name *hub,
                           const char *checkpoint, size_t bytes);
// Tells all other hubs of an event of this hub's own, of that name: its data, as JSON. NULL: of what is held, for
// approvers: the event's body. An event that can't go is counted, and other hubs are told of that.
void remote_route_announce(struct shard *shard, const char *event, const struct text *body);
// Whether a request of this peer's is held under this checkpoint at another hub.
bool remote_route_holds(const struct peer *peer, const char *checkpoint, size_t bytes);
