#include "router/features/mcp_http/mcp_server.h"

#include <assert.h>
#include <string.h>

#include "core/child/child_settings.h"
#include "router/features/mcp_http/mcp_table.h"

const struct child_settings *mcp_server_section(const struct shard *shard, const char *name, size_t bytes) {
    assert(shard->index == 0);
    const struct child_settings *child = shard->settings->children;
    while (child && (strlen(child->name) != bytes || memcmp(child->name, name, bytes) != 0))
        child = child->next;
    return child && child->protocol == CHILD_MCP ? child : NULL;
}

struct mcp_server *mcp_server_find(const struct shard *shard, const char *name, size_t bytes) {
    assert(shard->index == 0);
    struct list *all = &mcp_http_of(shard)->servers;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct mcp_server *server = list_entry(node, struct mcp_server, link);
        if (server->name_bytes == bytes && memcmp(server->name, name, bytes) == 0)
            return server;
    }
    return NULL;
}

struct mcp_server *mcp_server_take(struct shard *shard, const char *name, size_t bytes) {
    struct mcp_server *server = mcp_server_find(shard, name, bytes);
    if (server)
        return server;
    server = quota_take_zeroed(&shard->quota, 1, sizeof *server + bytes);
    if (!server)
        return NULL;
    server->name_bytes = (uint32_t)bytes;
    memcpy(server->name, name, bytes);
    list_init(&server->waits);
    list_init(&server->inventory.mirrors);
    list_append(&mcp_http_of(shard)->servers, &server->link);
    return server;
}

void mcp_server_give_idle(struct shard *shard) {
    struct list *all = &mcp_http_of(shard)->servers;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct mcp_server *server = list_entry(node, struct mcp_server, link);
        next = node->next;
        assert(list_empty(&server->inventory.mirrors) && !server->inventory.lists[MCP_TOOLS].names);
        if (server->is_asked || server->is_listing || !list_empty(&server->waits))
            continue;
        list_remove(&server->link);
        quota_give(&shard->quota, server);
    }
}
