// The session that a user has opened with an MCP server of its own (instances = each). Where that ends and is started
// again, the hub opens it anew, in its user's words, before what waits: the user doesn't know of it.
#pragma once

#include "core/mcp/mcp_users.h"
#include "router/engine/message/message.h"
#include "router/features/children/child.h"

// A user says something that its instance takes: notes what is to last.
void per_client_session_note(struct shard *shard, struct child *child, struct mcp_users *sharing,
                             struct mcp_user *user, const struct parcel *parcel);
// The instance answers what it was asked under this id.
void per_client_session_answered(struct shard *shard, struct child *child, const struct lookup *lookup,
                                 uint64_t hub_id);
// The instance has ended.
void per_client_session_rest(struct shard *shard, struct child *child);
// The instance has been asked to open the session anew, and answers.
void per_client_session_reopen(struct shard *shard, struct child *child, const struct mcp_user *user,
                               const struct lookup *answer);
