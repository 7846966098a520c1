// The hub's own questions to servers: server/discover before a client's first request of the modern era, and tools/list before
// a call that mirrors arguments. Requests that arrive meanwhile wait.
#pragma once

#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_post_types.h"
#include "router/features/mcp_http/mcp_server.h"

// What is known of the server of this name.
enum mcp_knowledge mcp_era_known(const struct shard *shard, const char *name, size_t bytes);
// Has an arrival wait until the server's era is known, and asks the server in the name of the arrival's user, unless a question is
// under way. Then the arrival is served again. Without memory the arrival is refused.
void mcp_era_wait(struct shard *shard, const struct mcp_arrival *arrival, const struct mcp_post *post,
                  const char *name, size_t bytes);
// Asks the server for its tools in the name of a user, unless that question is under way. The tools are known then
// (mcp_inventory.h).
void mcp_era_ask_tools(struct shard *shard, const struct user *user, const char *name, size_t bytes);
// Has an arrival wait for the tools, and serves it again then. False: no question is under way.
bool mcp_era_wait_for_tools(struct shard *shard, const struct mcp_arrival *arrival,
                            const struct mcp_post *post, const char *name, size_t bytes);
// Forgets an arrival whose connection has gone. The caller ends the exchange.
void mcp_era_leave(struct shard *shard, struct mcp_exchange *exchange);
// Forgets all eras, since other programs may run now.
void mcp_era_forget(struct shard *shard);
// Refuses all arrivals that wait, as the hub ends.
void mcp_era_close(struct shard *shard);
// Serves an arrival; set once, before any shard runs.
void mcp_era_set(mcp_exchange_serve *serve);
