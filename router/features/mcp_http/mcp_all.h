// `/mcp`: all servers that a user reaches, as one. The hub answers for all what is about all, and passes on what is for one.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"
#include "router/features/mcp_http/mcp_post.h"

// Takes a request of a client of all servers: of a session, or of one that was made for it.
void mcp_all_ask(struct shard *shard, struct mcp_post *post, struct mcp_client *client);
// Takes a notification of a session.
void mcp_all_notify(struct shard *shard, struct mcp_post *post, struct mcp_client *session);
