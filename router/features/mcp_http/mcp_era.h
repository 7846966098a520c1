// What the hub asks servers itself. Whether the server behind a name speaks MCP's modern era: the hub asks its server/discover before a client's first request
// of that era, and requests that come meanwhile wait.
#pragma once

#include "router/engine/send/reply.h"
#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_server.h"

// What is known of the server of this name.
enum mcp_knowledge mcp_era_known(const struct shard *shard, const char *name, size_t bytes);
// Asks the server, unless it is being asked, in the name of the arrival's user; the arrival waits, and is served again by
// mcp_era_serve when it is known. Without memory it is refused.
void mcp_era_wait(struct shard *shard, const struct mcp_arrival *arrival, struct reply_to to,
                  const char *name, size_t bytes);
// Asks the server for its tools, unless it is being asked, in the name of a user: what it lists is known then
// (mcp_inventory.h).
void mcp_era_ask_tools(struct shard *shard, const struct user *user, const char *name, size_t bytes);
// The arrival waits until that has come, and is served again. False: the server isn't being asked.
bool mcp_era_wait_for_tools(struct shard *shard, const struct mcp_arrival *arrival, struct reply_to to,
                            const char *name, size_t bytes);
// The connection of one that waits has gone: it is forgotten, and the caller ends it.
void mcp_era_leave(struct shard *shard, struct mcp_exchange *exchange);
// Other programs may be there: what is known says nothing any more.
void mcp_era_forget(struct shard *shard);
// All that waits is refused: the hub ends.
void mcp_era_close(struct shard *shard);
// Serves an arrival; set once, before any shard runs.
void mcp_era_set(mcp_exchange_serve *serve);
