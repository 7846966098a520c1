// Finds the server of a name at /mcp: by the prefix in the name, or by the lists of the servers.
#pragma once

#include "router/features/mcp_http/mcp_catalog.h"

enum mcp_ownership {
    MCP_OWNED,
    MCP_OWNED_BY_NONE,
    MCP_OWNED_BY_SEVERAL,
    MCP_OWNED_UNKNOWN, // the list of some server isn't known
};

struct mcp_owner {
    const char *server; // the name of the server's section
    uint32_t bytes;
    size_t skipped; // bytes of the prefix, with which the name begins
};

// Finds the server of a tool, prompt or resource among the servers that serve this user's clients. `user` is NULL
// without a users file. Of several servers that list the same URI, the first section's is the owner. *owner is valid
// with MCP_OWNED alone.
enum mcp_ownership mcp_owner_find(const struct shard *shard, const struct user *user, bool in_session,
                                  enum mcp_list list, const char *name, size_t bytes,
                                  struct mcp_owner *owner);
