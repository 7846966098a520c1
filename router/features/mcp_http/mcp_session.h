// Sessions of MCP's legacy era over HTTP.
#pragma once

#include "router/features/mcp_http/mcp_post.h"

// A message of that era was POSTed to the server of this name.
void mcp_session_post(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes);
// GET: the session's stream. DELETE: its end.
void mcp_session_listen(struct shard *shard, const struct mcp_arrival *arrival, const char *name,
                        size_t bytes);
void mcp_session_delete(struct shard *shard, const struct mcp_arrival *arrival, const char *name,
                        size_t bytes);
