// Labels name sources and targets in lists: an agentId, or `#` and the connection's number if it has no agent.
#pragma once

#include "core/base/limits.h"
#include "core/requests/pending.h"
#include "router/engine/shard/shard.h"

enum { PEER_LABEL_BYTES = METHOD_BYTES_MAX + 1 };

struct peer_label {
    uint32_t bytes;
    char text[PEER_LABEL_BYTES];
};

// Writes the label of a connection, with the first of its agents.
void peer_label_of(struct shard *shard, uint64_t connection, struct peer_label *label);
// Writes the label of the target of a pending request of this shard. Instances of a child have their shared name. The
// label of a request to other hubs is the address that the request named.
void peer_label_of_target(struct shard *shard, const struct pending *pending, struct peer_label *label);
// Returns the agent to which a pending request of this shard was forwarded; NULL if the agent has gone, or is at
// another hub.
const struct agent *peer_label_agent(struct shard *shard, const struct pending *pending);
// Returns whether a label equals the pattern, or begins with its text before a final star.
bool peer_label_matches(const struct peer_label *label, const char *pattern, size_t bytes);
