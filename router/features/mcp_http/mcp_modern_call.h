// Routes requests and notifications of MCP's modern era over HTTP. Each request is a client of its own, unless its user
// has an instance of the server.
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"
#include "router/features/mcp_http/mcp_post.h"

// Routes a message of the modern era to the server of this name, which must have that era.
void mcp_modern_call_post(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes);
// Ends a subscription with a result for the client, and cancels the subscription at the server.
void mcp_modern_call_part(struct shard *shard, struct mcp_call *call);

// --- The hub's own requests of the modern era

// Returns the client for a request of this user to this server. Where each user has an instance of the server
// (instances = each), all requests of the user have one client. Returns NULL if there is no room.
struct mcp_client *mcp_modern_call_client(struct shard *shard, const struct user *user, const char *name,
                                          size_t bytes);
// Returns the client that asks a server in the place of `own`: the user's client where each user has an instance, else
// `own`. Returns NULL if there is no room.
struct mcp_client *mcp_modern_call_client_for(struct shard *shard, struct mcp_client *own, const char *name,
                                              size_t bytes);
// Closes a client that was made for one request (MCP_CLIENT_REQUEST) if it has no more calls.
void mcp_modern_call_rest(struct shard *shard, struct mcp_client *client);
// Returns the call by which a client asks the server of this name. Where each user has an instance, a call of the
// user's client replaces `call`, which is freed. Without room for such a client, returns `call`.
struct mcp_call *mcp_modern_call_move(struct shard *shard, struct mcp_call *call, const char *name,
                                      size_t bytes);
