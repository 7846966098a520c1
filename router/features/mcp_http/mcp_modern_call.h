// Requests and notifications of MCP's modern era over HTTP: each request is a client of its own.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"
#include "router/features/mcp_http/mcp_post.h"

// Routes a message of that era to the server of this name, which has the era.
void mcp_modern_call_post(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes);
// Ends a subscription with the result of a good end, and cancels it at the server.
void mcp_modern_call_part(struct shard *shard, struct mcp_call *call);

// --- The hub's own requests of that era

// Returns the client for a request of this user to this server: where each user has an instance of the server (instances = each),
// one client for all requests of the user. NULL where there is no room.
struct mcp_client *mcp_modern_call_client(struct shard *shard, const struct user *user, const char *name,
                                          size_t bytes);
// Returns the client that asks a server in the place of `own`: the user's where each user has an instance, else `own` itself. NULL
// where there is no room.
struct mcp_client *mcp_modern_call_client_for(struct shard *shard, struct mcp_client *own, const char *name,
                                              size_t bytes);
// Closes a client whose last call has ended, unless it is one that lasts.
void mcp_modern_call_rest(struct shard *shard, struct mcp_client *client);
// The call by which a client asks the server of this name: where its user has an instance there, a call of that user's client
// takes the place of the first, which goes. Without room for such a client the call stays as it is.
struct mcp_call *mcp_modern_call_move(struct shard *shard, struct mcp_call *call, const char *name,
                                      size_t bytes);
