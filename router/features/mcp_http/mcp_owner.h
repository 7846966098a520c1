// Whose a name is at /mcp: by the prefix of a server, or by what servers have listed.
#pragma once

#include "router/features/mcp_http/mcp_catalog.h"

enum mcp_ownership {
    MCP_OWNED,
    MCP_OWNED_BY_NONE,
    MCP_OWNED_BY_SEVERAL,
    MCP_OWNED_UNKNOWN, // some server's list isn't known
};

struct mcp_owner {
    const char *server; // of its section
    uint32_t bytes;
    size_t skipped; // of the name: its prefix
};

// Finds the server of a tool, prompt or resource among the servers that serve clients of this user (NULL: users aren't on). Of
// several servers that list the same URI, the first section's is the owner. *owner is valid with MCP_OWNED alone.
enum mcp_ownership mcp_owner_find(const struct shard *shard, const struct user *user, bool in_session,
                                  enum mcp_list list, const char *name, size_t bytes,
                                  struct mcp_owner *owner);
