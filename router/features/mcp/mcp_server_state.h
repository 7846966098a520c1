// State of a server of the Model Context Protocol that clients share, or of its process of the modern era, at
// its seat.
#pragma once

#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_users.h"
#include "core/send/outbox.h"
#include "router/features/children/child.h"

struct mcp {
    struct mcp_users users;
    uint32_t serial; // of the start of the process that has what was given up
    enum mcp_era era;
    struct capabilities *answer; // to initialize: its result, or of the modern era its error; NULL: none yet
    struct span
        version; // of a legacy one: where its answer has protocolVersion, a JSON string; 0 bytes: nowhere
    struct parcel_list waiting; // requests that came before that and depend on it
    char level
        [MCP_LEVEL_BYTES]; // of a user's own, from which on it logs, as that one last said; "": it didn't
};

// Made with the first use; NULL without memory.
struct mcp *mcp_server_state(struct shard *shard, const struct child *child);
// Returns the users that share it, without requests that were given up at a process that has ended since.
struct mcp_users *mcp_server_state_users(const struct child *child, struct mcp *mcp);
void mcp_server_state_give(struct shard *shard, struct peer *seat);
