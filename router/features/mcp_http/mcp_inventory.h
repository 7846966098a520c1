// Keeps the lists of servers: names of tools and prompts, and URIs of resources, so that a call at /mcp finds its
// server without asking all servers. Keeps also which arguments of tools clients mirror in header fields
// (x-mcp-header). A list is known until its server says that the list has changed, or runs as another process. Shard 0
// keeps all lists.
#pragma once

#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_http/mcp_post.h"
#include "router/features/mcp_http/mcp_server.h"

// Returns what is known of a server's list.
enum mcp_inventory_state mcp_inventory_state(const struct shard *shard, const char *server, size_t bytes,
                                             enum mcp_list list);
// Notes a page of a server's list. The first page begins the list anew, and the list is known with its last page.
// Ignores a page that continues no list, or the list of another process.
void mcp_inventory_add(struct shard *shard, const char *name, size_t bytes, enum mcp_list list,
                       const struct mcp_body *page, bool is_first, bool is_last);
// Notes that a server hasn't answered a question for a list.
void mcp_inventory_miss(struct shard *shard, const char *server, size_t bytes, enum mcp_list list);
// Returns whether a server's list is known and has this name or URI.
bool mcp_inventory_has(const struct shard *shard, const char *server, size_t bytes, enum mcp_list list,
                       const char *name, size_t name_bytes);
// Returns the fault of the fields that mirror arguments of a server's tool, as static text; NULL: there is no fault.
const char *mcp_inventory_mismatch(const struct shard *shard, const char *server, size_t bytes,
                                   const char *tool, size_t tool_bytes, const struct mcp_post *post);
// Returns whether a server has refused to open a session, and still runs as the same process.
bool mcp_inventory_lacks_sessions(const struct shard *shard, const char *server, size_t bytes);
// Notes whether a server has refused to open a session.
void mcp_inventory_note_sessions(struct shard *shard, const char *server, size_t bytes, bool lacks);
// Forgets all lists, since other programs may run now.
void mcp_inventory_forget(struct shard *shard);
