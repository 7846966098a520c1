// The member `source` of a line of the audit journal: the connection, its user where users are on, and its
// agents. For a message from another hub it is that hub, and the agent in whose name it was said by that
// hub's word.
#pragma once

#include "core/base/text.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

// Puts a connection, which may have gone, and the user for whom the message was said; NULL: none.
void audit_put_user(struct shard *shard, struct text *line, uint64_t connection, const struct user *user);
// Puts the peer whose message is being read.
void audit_put_peer(struct shard *shard, struct text *line, const struct peer *peer);
// Of a message.
void audit_put_source(struct shard *shard, struct text *line, const struct message *message);
