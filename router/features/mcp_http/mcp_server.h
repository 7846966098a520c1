// Keeps a record of each MCP server by its name, on shard 0. The record has the server's era, the arrivals that wait
// for the server (mcp_era.c), and the server's lists (mcp_inventory.c).
#pragma once

#include "router/features/mcp_http/mcp_client_types.h"

// MCP_ERA_DOWN: server/discover has failed within the last second, or has been under way for longer than --mcp-gather.
enum mcp_knowledge { MCP_ERA_UNKNOWN, MCP_ERA_THERE, MCP_ERA_LACKING, MCP_ERA_DOWN };

// MCP_INVENTORY_UNANSWERED: the server hasn't answered. For --mcp-gather the server counts as one without elements.
enum mcp_inventory_state { MCP_INVENTORY_UNKNOWN, MCP_INVENTORY_KNOWN, MCP_INVENTORY_UNANSWERED };

// Tells which processes of a server have made a list: other processes may have other lists.
struct mcp_incarnation {
    int32_t process, modern; // process ids: of the section's process, and of its process for the modern era
    uint32_t changes;        // how often the server has said that a list has changed
};

struct mcp_listed {
    enum mcp_inventory_state state;
    bool is_begun; // with MCP_INVENTORY_UNKNOWN: the first page is there, and the last page isn't
    struct mcp_incarnation by;
    uint64_t until_ms; // when MCP_INVENTORY_UNANSWERED ends
    char *names;       // each behind its length; NULL: none
    size_t bytes, capacity;
};

struct mcp_inventory {
    struct mcp_listed lists[MCP_LISTS_COUNT];
    struct list mirrors;               // struct mirror (mcp_inventory.c)
    bool lacks_sessions;               // the server has refused to open a session
    struct mcp_incarnation refused_by; // the process that has refused, with lacks_sessions
    uint32_t mirror_count;
};

struct mcp_server {
    struct list link;  // in mcp_http.servers
    struct list waits; // struct mcp_wait.link
    enum mcp_knowledge era;
    bool is_asked;          // server/discover is under way
    bool is_late;           // server/discover has been under way for longer than --mcp-gather
    bool is_listing;        // the hub's own tools/list is under way
    uint32_t pages;         // pages of the server's tools that have arrived
    uint64_t down_until_ms; // with an unknown era: the server counts as down until then
    struct mcp_inventory inventory;
    uint32_t name_bytes;
    char name[];
};

// Returns the section of the server of this name; NULL: there is none, or the section was removed, though its program
// may still be ending.
const struct child_settings *mcp_server_section(const struct shard *shard, const char *name, size_t bytes);
// Returns the record of the server of this name; NULL: the server was never asked, or all records were forgotten.
struct mcp_server *mcp_server_find(const struct shard *shard, const char *name, size_t bytes);
// Returns the same record, and makes it if there is none. Returns NULL without memory.
struct mcp_server *mcp_server_take(struct shard *shard, const char *name, size_t bytes);
// Frees the records of servers that aren't being asked and for which no arrival waits. The inventories must have been
// forgotten.
void mcp_server_give_idle(struct shard *shard);
