// Identities at the gate: a user, or where users aren't on a connection. Nobody decides on their own
// messages.
#pragma once

#include "router/engine/message/message.h"

struct user;

struct approver {
    uint64_t connection;
    const struct user *user; // NULL: users aren't on
};

// For whom a peer speaks now.
struct approver approver_of(const struct peer *peer);
bool approver_is_same(struct approver one, struct approver other);
// Whether a peer may decide on what is held, and see it.
bool approver_may_decide(const struct shard *shard, const struct peer *peer);
