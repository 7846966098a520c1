// In whose name a message is said that goes to another hub, which can't know that.
#pragma once

#include "core/cluster/hub_header.h"
#include "router/engine/message/message.h"

// Its user, and the agent that it names, decoded, where that is one of its connection's.
void outbound_identity_write(struct shard *shard, const struct message *message,
                             struct hub_header_source *out);
