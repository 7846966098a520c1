#include "router/config_cluster.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { URL_BYTES_MAX = 2048 };

static bool fail(const char *why) {
    assert(why);
    fprintf(stderr, "patchbayd: --nats: %s\n", why);
    return false;
}

static bool copy_credential(char out[CLUSTER_CREDENTIAL_BYTES_MAX + 1], const char *text, size_t bytes) {
    if (bytes == 0 || bytes > CLUSTER_CREDENTIAL_BYTES_MAX)
        return false;
    memcpy(out, text, bytes);
    out[bytes] = '\0';
    return true;
}

// USER:PASSWORD, or a token.
static bool read_credential(struct cluster_server *server, const char *text, size_t bytes) {
    const char *colon = memchr(text, ':', bytes);
    if (!colon)
        return copy_credential(server->token, text, bytes);
    size_t user_bytes = (size_t)(colon - text);
    return copy_credential(server->user, text, user_bytes) &&
           copy_credential(server->password, colon + 1, bytes - user_bytes - 1);
}

static bool read_server(struct config *config, const char *url) {
    static const char scheme[] = "nats://";
    char uri[URL_BYTES_MAX + 8] = "tcp://";
    struct address address;
    struct cluster_settings *cluster = &config->cluster;
    if (cluster->server_count == CLUSTER_SERVERS_MAX)
        return fail("16 servers at most");
    if (strncmp(url, scheme, sizeof scheme - 1) != 0)
        return fail("a server is nats://[USER:PASSWORD@|TOKEN@]HOST:PORT");
    const char *host = url + sizeof scheme - 1, *at = strrchr(host, '@');
    struct cluster_server *server = &cluster->servers[cluster->server_count];
    *server = (struct cluster_server){0};
    if (at && !read_credential(server, host, (size_t)(at - host)))
        return fail("a server's USER:PASSWORD or TOKEN has 1 to 255 bytes each");
    host = at ? at + 1 : host;
    assert(strlen(host) <= URL_BYTES_MAX);
    strcat(uri, host);
    if (address_parse(&address, uri) < 0 || strcmp(strrchr(uri, ':'), ":0") == 0)
        return fail("a server's HOST:PORT is a numeric address, or localhost, and a port");
    if (!address_is_local(&address))
        config->cluster_is_remote = true;
    server->address = address.storage;
    server->bytes = address.bytes;
    cluster->server_count++;
    return true;
}

bool config_nats(struct config *config, const char *text) {
    char urls[URL_BYTES_MAX], *rest = NULL;
    size_t bytes = strlen(text);
    config->cluster.server_count = 0;
    config->cluster_is_remote = false;
    if (bytes == 0 || bytes >= sizeof urls)
        return fail("URLs with commas between them, 2 KiB at most");
    memcpy(urls, text, bytes + 1);
    for (char *url = strtok_r(urls, ",", &rest); url; url = strtok_r(NULL, ",", &rest))
        if (!read_server(config, url))
            return false;
    assert(config->cluster.server_count <= CLUSTER_SERVERS_MAX);
    return config->cluster.server_count > 0 || fail("no server is named");
}

bool config_cluster(struct config *config, const char *text) {
    if (!subject_is_cluster(text)) {
        fprintf(stderr, "patchbayd: --cluster: '%s' is not 1 to 64 of A-Za-z0-9-_\n", text);
        return false;
    }
    assert(strlen(text) < sizeof config->cluster.name);
    strcpy(config->cluster.name, text);
    return true;
}

bool config_check_cluster(struct config *config) {
    const struct cluster_settings *cluster = &config->cluster;
    bool has_name = cluster->name[0] != '\0';
    if ((cluster->server_count > 0) != has_name)
        return fail("it goes with --cluster NAME, and that with it");
    if (!has_name)
        return true;
    if (config->users[0])
        return fail("users don't travel between hubs yet: not with --users");
    if (config->cluster_is_remote && !config->insecure)
        return fail("a server on another machine is spoken to without TLS; --insecure does it all the same");
    config->cluster.remote = config->insecure;
    config->settings.cluster = cluster;
    config->settings.sandbox.dials = true;
    assert(cluster->server_count <= CLUSTER_SERVERS_MAX);
    return true;
}

static bool is_same_server(const struct cluster_server *one, const struct cluster_server *other) {
    assert(one->bytes <= sizeof one->address && other->bytes <= sizeof other->address);
    return one->bytes == other->bytes && memcmp(&one->address, &other->address, one->bytes) == 0 &&
           strcmp(one->user, other->user) == 0 && strcmp(one->password, other->password) == 0 &&
           strcmp(one->token, other->token) == 0;
}

bool config_is_same_cluster(const struct config *now, const struct config *fresh) {
    const struct cluster_settings *one = &now->cluster, *other = &fresh->cluster;
    if (one->server_count != other->server_count || strcmp(one->name, other->name) != 0)
        return false;
    for (uint32_t at = 0; at < one->server_count; at++)
        if (!is_same_server(&one->servers[at], &other->servers[at]))
            return false;
    return true;
}
