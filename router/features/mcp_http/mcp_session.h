// Serves sessions of MCP's legacy era over HTTP.
#pragma once

#include "router/features/mcp_http/mcp_post.h"

// Serves a message of the legacy era that was POSTed to the server of this name; no name: to all servers.
void mcp_session_post(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes);
// Serves a GET, which opens or resumes a session's stream.
void mcp_session_listen(struct shard *shard, const struct mcp_arrival *arrival, const char *name,
                        size_t bytes);
// Serves a DELETE, which ends a session.
void mcp_session_delete(struct shard *shard, const struct mcp_arrival *arrival, const char *name,
                        size_t bytes);
