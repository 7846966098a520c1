// Servers of MCP by their names, on shard 0. One record of a server has what the hub knows of its era, with those that wait
// for that (mcp_era.c), and what the server has listed (mcp_inventory.c).
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// DOWN: the server hasn't answered server/discover, asked within the last second, or for --mcp-gather.
enum mcp_knowledge { MCP_ERA_UNKNOWN, MCP_ERA_THERE, MCP_ERA_LACKING, MCP_ERA_DOWN };

// UNANSWERED: the server hasn't answered. For --mcp-gather it counts as one that lists nothing.
enum mcp_inventory_state { MCP_INVENTORY_UNKNOWN, MCP_INVENTORY_KNOWN, MCP_INVENTORY_UNANSWERED };

// The process that has made a list: another one may list other things.
struct mcp_incarnation {
    int32_t process, modern;
    uint32_t changes;
};

struct mcp_listed {
    enum mcp_inventory_state state;
    bool is_begun; // MCP_INVENTORY_UNKNOWN: the first page is there, and the last one is not
    struct mcp_incarnation by;
    uint64_t until_ms; // MCP_INVENTORY_UNANSWERED
    char *names;       // each behind its length; NULL: none
    size_t bytes, capacity;
};

struct mcp_inventory {
    struct mcp_listed lists[MCP_LISTS_COUNT];
    struct list mirrors; // mcp_inventory.c
    bool lacks_sessions;
    struct mcp_incarnation refused_by; // that, valid where sessions lack
    uint32_t mirror_count;
};

struct mcp_server {
    struct list link;  // in mcp_http.servers
    struct list waits; // struct mcp_wait.link
    enum mcp_knowledge era;
    bool is_asked;
    bool is_late;           // server/discover is under way for longer than --mcp-gather
    bool is_listing;        // the hub's own tools/list is under way
    uint32_t pages;         // of its tools that have arrived
    uint64_t down_until_ms; // the server has not answered, and counts as down until then
    struct mcp_inventory inventory;
    uint32_t name_bytes;
    char name[];
};

// The section of the server of this name; NULL: there is none, or it was removed, though its program may be ending still.
const struct child_settings *mcp_server_section(const struct shard *shard, const char *name, size_t bytes);
// The server of this name; NULL: nothing was ever asked of it, or all is forgotten.
struct mcp_server *mcp_server_find(const struct shard *shard, const char *name, size_t bytes);
// The same, made if there is none; NULL without memory.
struct mcp_server *mcp_server_take(struct shard *shard, const char *name, size_t bytes);
// Gives back those that aren't being asked, and for which nobody waits. The inventories must have been forgotten.
void mcp_server_give_idle(struct shard *shard);
