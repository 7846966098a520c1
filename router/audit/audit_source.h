// Who a line of the audit journal is about, as its member `source`: the connection, its user where users are on, and its agents;
// or of what has come from another hub that hub, and the agent in whose name it says that it was said.
#pragma once

#include "core/base/text.h"
#include "router/engine/shard/peer.h"

// Of a connection, which may have gone, and the user for whom it was said; NULL: nobody's.
void audit_put_user(struct shard *shard, struct text *line, uint64_t connection, const struct user *user);
// Of the peer whose message is being read.
void audit_put_peer(struct shard *shard, struct text *line, const struct peer *peer);
