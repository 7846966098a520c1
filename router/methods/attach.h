// hub/attach: from then on what its connection says without a target goes to one agent.
#pragma once

#include "router/methods/names.h"
#include "router/request/message.h"

void attach_connection(struct shard *shard, const struct message *message);
// Whether what opens or ends a session (names_is_of_session) is for the agent that its connection is attached to, and
// not for the hub.
bool attach_opens_there(const struct shard *shard, const struct message *message, enum method method);
