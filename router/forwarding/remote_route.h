// What goes to other hubs, since nobody is here for it, or somebody there, too.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"
#include "router/forwarding/remote_target.h"

// Takes a message for which the rules found nobody here to another hub, if there could be somebody; it may have been refused. False:
// there couldn't.
bool remote_route_takes(struct shard *shard, const struct message *message, const struct rules_message *asked,
                        const struct rules_verdict *verdict);
// Whether anybody is there for a request is asked, and it is back with the answer (struct spill_reason); `judged`: unless it would be refused
// there, which then is its answer. False: that can't be asked, and nothing has changed.
bool remote_route_probe(struct shard *shard, const struct message *message, struct remote_target *to,
                        bool judged);
// Sends a copy of what goes to all on its way, to all other hubs; NULL: there was no memory for it. Nobody waits for it, and what
// can't go is counted. Whether it goes.
bool remote_route_copy(struct shard *shard, const struct message *message, const struct agent *link,
                       struct parcel *parcel, const struct remote_target *to);
