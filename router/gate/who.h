// Who is who at the gate: a user, or where users aren't on a connection. Nobody decides on what they sent themselves.
#pragma once

#include "router/engine/message/message.h"

struct user;

struct who {
    uint64_t connection;
    const struct user *user; // NULL: users aren't on
};

// For whom a peer speaks now.
struct who who_is(const struct peer *peer);
bool who_is_same(struct who one, struct who other);
// Whether a peer may decide on what is held, and see it.
bool who_may_approve(const struct shard *shard, const struct peer *peer);
