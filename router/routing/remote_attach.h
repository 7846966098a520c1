// Handles hub/attach to an agent that isn't at this hub: asks the other hubs for the name.
#pragma once

#include "router/engine/message/message.h"
#include "router/engine/message/remote_mail.h"

// Asks the other hubs for the agent of a hub/attach for which attach_seeks holds (router/methods/session.h).
void remote_attach_route(struct shard *shard, const struct message *message);
// Handles MAIL_ATTACH: shard 0 asks the other hubs, the peer's shard answers the peer.
void remote_attach_arrived(struct shard *shard, struct mail *mail);
// Ends a query on shard 0 with its outcome, and sends it back to the peer's shard.
void remote_attach_over(struct shard *shard, struct attach_query *query, enum attach_outcome outcome);
