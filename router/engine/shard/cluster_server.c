#include "router/engine/shard/cluster_server.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "io/address.h"

bool cluster_server_place(struct cluster_server *server) {
    const struct nats_url *url = &server->url;
    char uri[sizeof url->host + 16];
    struct address address;
    assert(url->host[0] && url->port > 0);
    snprintf(uri, sizeof uri, url->is_v6 ? "tcp://[%s]:%u" : "tcp://%s:%u", url->host, url->port);
    server->bytes = 0;
    if (address_parse(&address, uri) < 0)
        return false;
    server->address = address.storage;
    server->bytes = address.bytes;
    return true;
}

void cluster_server_text(const struct nats_url *url, char out[CLUSTER_SERVER_TEXT_BYTES]) {
    snprintf(out, CLUSTER_SERVER_TEXT_BYTES, "%s:%u", url->host, url->port);
}

bool cluster_server_is_local(const struct cluster_server *server) {
    const struct address address = {.storage = server->address, .bytes = server->bytes};
    assert(server->bytes <= sizeof server->address);
    return server->bytes > 0 && address_is_local(&address);
}

bool cluster_server_is_safe(const struct cluster_settings *settings, const struct cluster_server *server) {
    const struct nats_url *url = &server->url;
    bool has_credentials = settings->creds || url->password[0] || url->token[0];
    return cluster_server_is_local(server) || (url->secure && has_credentials);
}
