#include "router/features/cluster/link_servers.h"

#include <assert.h>
#include <string.h>

static bool is_same_name(const struct nats_url *one, const struct nats_url *other) {
    return one->port == other->port && strcasecmp(one->host, other->host) == 0;
}

static bool is_known(const struct link *link, const struct cluster_server *server) {
    assert(link->shard->index == 0);
    for (uint32_t at = 0; at < link->server_count; at++)
        if (link->servers[at].bytes == server->bytes &&
            (server->bytes ? memcmp(&link->servers[at].address, &server->address, server->bytes) == 0
                           : is_same_name(&link->servers[at].url, &server->url)))
            return true;
    return false;
}

// Where the next one is kept: behind the settings' own, in the place of the oldest where there is no other.
static struct cluster_server *place(struct link *link) {
    uint32_t own = link->shard->hub->settings.cluster->server_count;
    uint32_t at = own + link->learned++ % CLUSTER_SERVERS_MAX;
    if (at == link->server)
        at = own + link->learned++ % CLUSTER_SERVERS_MAX;
    if (at >= link->server_count)
        link->server_count = at + 1;
    assert(link->server_count <= sizeof link->servers / sizeof *link->servers);
    return &link->servers[at];
}

static bool is_numeric(const char *host) {
    return host[strspn(host, "0123456789.")] == '\0' || strchr(host, ':');
}

// It is shown what the one that named it was. Where it is a mere address, its certificate must be for the same name, as certificates of
// such servers are.
void link_servers_learn(struct link *link, const char *url, size_t bytes) {
    const struct cluster_server *own = link_server(link);
    struct cluster_server fresh = *own;
    assert(url || bytes == 0);
    if (!nats_url_place(url, bytes, &fresh.url) ||
        !(cluster_server_place(&fresh) || link->resolving.resolver) || is_known(link, &fresh))
        return;
    if (!is_numeric(fresh.url.host) || is_numeric(own->shown))
        memcpy(fresh.shown, fresh.url.host, sizeof fresh.shown);
    // INFO comes before anybody has shown who they are.
    const struct cluster_settings *settings = link->shard->hub->settings.cluster;
    if (settings->insecure || cluster_server_is_safe(settings, &fresh))
        *place(link) = fresh;
}
