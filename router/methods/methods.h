// Answers the methods that the hub answers itself: the rows of method_table.h, and the features' rows.
#pragma once

#include "router/engine/message/message.h"

// Answers a message with a method of the hub, or a decision on a held message. Refuses a message before initialize, or
// with an unknown method under hub/. Returns false if the message must be routed.
bool methods_answer(struct shard *shard, const struct message *message);
// Returns whether an agent answers the message's method, whatever else the message says.
bool methods_is_agents(const struct shard *shard, const struct message *message);
// Returns whether methods_answer returns false for each such message of this peer, so that the call can be left out.
// The peer must not be the link.
static inline bool methods_may_skip(const struct shard *shard, const struct peer *peer) {
    return !shard->settings->strict && (peer->initialized || !shard->settings->require_initialize);
}
