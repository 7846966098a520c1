// Serves `/mcp`, where a client reaches all servers that its user may call. The hub answers requests about all servers
// itself, and passes each request about one server on to that server.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"
#include "router/features/mcp_http/mcp_post.h"

// Serves a request to all servers. `client` is a session, or the client of one modern request.
void mcp_all_ask(struct shard *shard, struct mcp_post *post, struct mcp_client *client);
// Serves a notification in a session of all servers.
void mcp_all_notify(struct shard *shard, struct mcp_post *post, struct mcp_client *session);
