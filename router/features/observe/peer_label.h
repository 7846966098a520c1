// Names of sources and targets for those who look: an agentId, or `#` and the connection's number where it has none.
#pragma once

#include "core/base/limits.h"
#include "core/requests/pending.h"
#include "router/engine/shard/shard.h"

enum { PEER_LABEL_BYTES = METHOD_BYTES_MAX + 1 };

struct peer_label {
    uint32_t bytes;
    char text[PEER_LABEL_BYTES];
};

// The first agent of a connection.
void peer_label_of(struct shard *shard, uint64_t connection, struct peer_label *label);
// Of whoever owes an answer to a request of this shard's. A child's instances bear their shared name; a request to other
// hubs has the name that it asked for.
void peer_label_of_target(struct shard *shard, const struct pending *pending, struct peer_label *label);
// The agent that a request of this shard's was forwarded to; NULL: it has gone, or is at another hub.
const struct agent *peer_label_agent(struct shard *shard, const struct pending *pending);
// Whether a label is this one, or begins with it where `pattern` ends with a star.
bool peer_label_matches(const struct peer_label *label, const char *pattern, size_t bytes);
