#include "router/features/mcp_http/mcp_owner.h"

#include <assert.h>
#include <string.h>

#include "core/child/child_settings.h"
#include "router/features/mcp_calls/tool_list.h"
#include "router/features/mcp_http/mcp_inventory.h"

// Returns whether a server is known to list a name or URI, and the user is shown that element.
static bool has(const struct shard *shard, const struct user *user, const char *server, size_t server_bytes,
                enum mcp_list list, const char *name, size_t bytes) {
    return mcp_inventory_has(shard, server, server_bytes, list, name, bytes) &&
           (list != MCP_TOOLS || tool_list_shows(shard, user, server, server_bytes, name, bytes));
}

// Finds the server whose prefix the name begins with. The longest prefix wins. Among servers with the same prefix, the
// first wins that is known to list the rest of the name, else the first of all. Returns false if there is none.
static bool find_prefixed(const struct shard *shard, const struct user *user, bool in_session,
                          enum mcp_list list, const char *name, size_t bytes, struct mcp_owner *owner) {
    char prefix[AGENT_ID_BYTES_MAX + 2];
    bool has_it = false;
    *owner = (struct mcp_owner){0};
    for (const struct child_settings *child = shard->settings->children; child; child = child->next) {
        if (!mcp_gather_serves(shard, child, user, in_session))
            continue;
        size_t own = strlen(child->name), count = mcp_catalog_prefix(child->name, own, prefix);
        if (bytes <= count || memcmp(name, prefix, count) != 0)
            continue;
        bool is_known = has(shard, user, child->name, own, list, name + count, bytes - count);
        if (count > owner->skipped || (count == owner->skipped && is_known && !has_it))
            *owner = (struct mcp_owner){child->name, (uint32_t)own, count};
        else
            continue;
        has_it = is_known;
    }
    return owner->server != NULL;
}

enum mcp_ownership mcp_owner_find(const struct shard *shard, const struct user *user, bool in_session,
                                  enum mcp_list list, const char *name, size_t bytes,
                                  struct mcp_owner *owner) {
    bool is_uri = list == MCP_RESOURCES, is_unknown = false, is_several = false;
    assert(shard->index == 0 && list < MCP_LISTS_COUNT);
    if (!is_uri && find_prefixed(shard, user, in_session, list, name, bytes, owner))
        return MCP_OWNED;
    *owner = (struct mcp_owner){0};
    for (const struct child_settings *child = shard->settings->children; child; child = child->next) {
        size_t own = strlen(child->name);
        if (!mcp_gather_serves(shard, child, user, in_session))
            continue;
        is_unknown |= mcp_inventory_state(shard, child->name, own, list) == MCP_INVENTORY_UNKNOWN;
        if (!has(shard, user, child->name, own, list, name, bytes))
            continue;
        is_several |= owner->server && !is_uri;
        if (!owner->server)
            *owner = (struct mcp_owner){child->name, (uint32_t)own, 0};
    }
    return is_unknown      ? MCP_OWNED_UNKNOWN
           : is_several    ? MCP_OWNED_BY_SEVERAL
           : owner->server ? MCP_OWNED
                           : MCP_OWNED_BY_NONE;
}
