// The seat of a client of MCP over HTTP: a peer without a socket that stands for the client in routing. Messages for
// the seat are not queued, but diverted to the client's streams (transport.divert).
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// Makes a client of this user and this server; no name: of all servers. Returns NULL without memory, or at the limit of
// connections.
struct mcp_client *mcp_client_create(struct shard *shard, enum mcp_client_kind kind, const struct user *user,
                                     const char *name, size_t bytes);
// Cancels the calls of a session that its client ends. Each call that has a connection is answered -32800. The caller
// closes the client, which cancels the calls without a connection.
void mcp_client_cancel_calls(struct shard *shard, struct mcp_client *client);
