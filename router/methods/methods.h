// The methods that the hub answers itself: those of method_table.h.
#pragma once

#include "router/engine/message/message.h"

// Answers a message whose method is one of the hub's, or refuses it because the session isn't open yet or the
// hub has no such method under hub/. A decision on a held message is answered, too. False when the message is
// to be routed.
bool methods_answer(struct shard *shard, const struct message *message);
// Whether such a method is an agent's to answer, whatever else a message says.
bool methods_is_agents(const struct shard *shard, const struct message *message);
// Whether methods_answer is false for a message with one, whoever says it but the link to other hubs.
static inline bool methods_may_skip(const struct shard *shard, const struct peer *peer) {
    return !shard->settings->strict && (peer->initialized || !shard->settings->require_initialize);
}
