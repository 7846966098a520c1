// Asks servers the hub's own questions: server/discover before a client's first request of the modern era, and
// tools/list before a call that mirrors arguments. Requests that arrive meanwhile wait.
#pragma once

#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_post_types.h"
#include "router/features/mcp_http/mcp_server.h"

// Returns what is known of the era of the server of this name.
enum mcp_knowledge mcp_era_known(const struct shard *shard, const char *name, size_t bytes);
// Makes an arrival wait until the server's era is known, and then serves the arrival again. Asks the server in the name
// of the arrival's user, unless a question is under way. Refuses the arrival without memory.
void mcp_era_wait(struct shard *shard, const struct mcp_arrival *arrival, const struct mcp_post *post,
                  const char *name, size_t bytes);
// Asks the server for its tools in the name of a user, unless that question is under way. The answer goes to the
// inventory (mcp_inventory.h).
void mcp_era_ask_tools(struct shard *shard, const struct user *user, const char *name, size_t bytes);
// Makes an arrival wait for the server's tools, and then serves the arrival again. Returns false if no question for
// tools is under way. Refuses the arrival without memory.
bool mcp_era_wait_for_tools(struct shard *shard, const struct mcp_arrival *arrival,
                            const struct mcp_post *post, const char *name, size_t bytes);
// Ends the wait of an arrival whose connection has gone. The caller ends the exchange.
void mcp_era_leave(struct shard *shard, struct mcp_exchange *exchange);
// Serves arrivals again, which are refused then, if their user may not call the server any more.
void mcp_era_review(struct shard *shard);
// Forgets all eras, since other programs may run now.
void mcp_era_forget(struct shard *shard);
// Refuses all waiting arrivals, because the hub ends.
void mcp_era_close(struct shard *shard);
// Sets the function that serves an arrival again. Called once, before any shard runs.
void mcp_era_set(mcp_exchange_serve *serve);
