// The seat of a client of MCP over HTTP: a peer without a socket, by which servers and routing know the client. What is
// queued for the peer is diverted here (transport.divert).
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// Makes one, for this user and server. NULL where there is no room.
struct mcp_client *mcp_client_create(struct shard *shard, enum mcp_client_kind kind, const struct user *user,
                                     const char *name, size_t bytes);
