#include "router/main/config_cluster.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "router/main/config_fault.h"

enum { URLS_BYTES_MAX = 4096 };

// Complains that --nats can't be used. Shows nothing of the value, which may hold a password.
static bool fail(struct config *config, const char *expected) {
    assert(expected);
    return config_complain(config, "nats", "expected %s", expected);
}

// --- Servers

static const char bad_place[] =
    "a server's HOST:PORT: a name or a numeric address, and a port from 1 to 65535";

static bool is_numeric(const struct nats_url *url) {
    return url->is_v6 || url->host[strspn(url->host, "0123456789.")] == '\0';
}

static bool read_server(struct config *config, const char *text, size_t bytes) {
    struct cluster_settings *cluster = &config->cluster_settings;
    if (cluster->server_count == CLUSTER_SERVERS_MAX)
        return fail(config, "16 servers at most");
    struct cluster_server *server = &cluster->servers[cluster->server_count];
    *server = (struct cluster_server){.shown = ""};
    bool names_scheme = memmem(text, bytes, "://", 3) || cluster->server_count == 0;
    switch (names_scheme ? nats_url_read(text, bytes, &server->url)
                         : nats_url_read_as(text, bytes, server[-1].url.secure, &server->url)) {
    case NATS_URL_BAD_SCHEME:
        return fail(config, "servers as nats:// or tls:// and HOST:PORT, with USER:PASSWORD or TOKEN and an "
                            "at sign before HOST, and a comma without blanks between two servers");
    case NATS_URL_BAD_CREDENTIAL:
        return fail(config,
                    "a server's USER:PASSWORD or TOKEN of 1 to 255 bytes each, in which %XX is a byte");
    case NATS_URL_BAD_PLACE:
        return fail(config, bad_place);
    case NATS_URL_GOOD:
        break;
    }
    memcpy(server->shown, server->url.host, sizeof server->shown);
    if (!address_place(&server->address, server->url.host, server->url.is_v6, server->url.port) &&
        is_numeric(&server->url))
        return fail(config, bad_place);
    cluster->server_count++;
    return true;
}

bool config_nats(struct config *config, const char *text) {
    config->cluster_settings.server_count = 0;
    if (strlen(text) >= URLS_BYTES_MAX)
        return fail(config, "URLs with commas between them, 4 KiB at most");
    for (size_t bytes; *text; text += bytes + (text[bytes] == ',')) {
        bytes = strcspn(text, ",");
        if (bytes > 0 && !read_server(config, text, bytes))
            return false;
    }
    assert(config->cluster_settings.server_count <= CLUSTER_SERVERS_MAX);
    return config->cluster_settings.server_count > 0 || fail(config, "one server at least");
}

bool config_cluster(struct config *config, const char *text) {
    if (!subject_is_cluster(text))
        return config_complain(config, "cluster", "expected 1 to 64 of A-Za-z0-9-_");
    assert(strlen(text) < sizeof config->cluster.name);
    strcpy(config->cluster.name, text);
    return true;
}

// --- Checks across options

static bool are_safe(struct config *config) {
    const struct cluster_settings *cluster = &config->cluster_settings;
    for (uint32_t at = 0; at < cluster->server_count; at++) {
        const struct nats_url *url = &cluster->servers[at].url;
        if (config->insecure || cluster_server_is_safe(cluster, &cluster->servers[at]))
            continue;
        return config_complain_of(
            config, "nats", "%s:%u isn't on this machine and %s, or --insecure, which joins it all the same",
            url->host, url->port,
            url->secure ? "there are no credentials for it: expected USER:PASSWORD or TOKEN before its HOST, "
                          "--nats-credentials"
                        : "is spoken to without TLS: expected tls://");
    }
    return true;
}

bool config_needs_resolver(const struct config *config) {
    for (uint32_t at = 0; at < config->cluster_settings.server_count; at++)
        if (!address_is_local(&config->cluster_settings.servers[at].address))
            return true;
    return false;
}

static bool is_display_name(const char *name) {
    size_t bytes = strlen(name);
    for (size_t at = 0; at < bytes; at++)
        if (name[at] < ' ' || name[at] > '~' || name[at] == '"' || name[at] == '\\')
            return false;
    return bytes > 0 && bytes <= HUB_DISPLAY_BYTES_MAX;
}

// Sets the hub's name to the machine's name if no name is given. If the machine's name can't be shown, the name is
// "hub".
static void name_hub(struct config *config) {
    char name[256] = "";
    struct hub_cluster *cluster = &config->cluster;
    if (cluster->hub_name[0])
        return;
    bool is_good = gethostname(name, sizeof name - 1) == 0 && is_display_name(name);
    strcpy(cluster->hub_name, is_good ? name : "hub");
}

bool config_check_cluster(struct config *config) {
    struct cluster_settings *settings = &config->cluster_settings;
    bool has_name = config->cluster.name[0] != '\0';
    if (config->cluster.hub_name[0] && !is_display_name(config->cluster.hub_name))
        config_complain_of(config, "hub-name",
                           "expected 1 to 64 printable ASCII characters without quotes and backslashes");
    if (settings->server_count > 0 && !has_name)
        return config_complain_of(config, "nats", "expected --cluster NAME beside it");
    if (settings->server_count == 0 && has_name)
        return config_complain_of(config, "cluster", "expected --nats URL beside it");
    if (!has_name && config->nats_creds[0])
        return config_complain_of(config, "nats-credentials", "expected --nats and --cluster beside it");
    if (!has_name && config->nats_authorities[0])
        return config_complain_of(config, "nats-ca", "expected --nats and --cluster beside it");
    if (!has_name)
        return true;
    settings->insecure = config->insecure;
    settings->creds = config->nats_creds[0] ? config->nats_creds : NULL;
    name_hub(config);
    config->cluster.settings = settings;
    config->settings.cluster = &config->cluster;
    config->settings.sandbox.may_dial = true;
    return are_safe(config);
}

static bool is_same_server(const struct cluster_server *one, const struct cluster_server *other) {
    const struct nats_url *url = &one->url, *others = &other->url;
    return url->secure == others->secure && url->port == others->port &&
           strcmp(url->host, others->host) == 0 && strcmp(url->user, others->user) == 0 &&
           strcmp(url->password, others->password) == 0 && strcmp(url->token, others->token) == 0;
}

bool config_is_same_cluster(const struct config *now, const struct config *fresh) {
    const struct cluster_settings *one = &now->cluster_settings, *other = &fresh->cluster_settings;
    if (one->server_count != other->server_count || strcmp(now->cluster.name, fresh->cluster.name) != 0 ||
        strcmp(now->nats_creds, fresh->nats_creds) != 0 ||
        strcmp(now->nats_authorities, fresh->nats_authorities) != 0)
        return false;
    for (uint32_t at = 0; at < one->server_count; at++)
        if (!is_same_server(&one->servers[at], &other->servers[at]))
            return false;
    return true;
}

// --- The command line

// Overwrites the text before the last @ of each URL in a list with commas. A URL after the first may lack its scheme.
static void erase_urls(char *url) {
    for (size_t bytes; *url; url += bytes + (url[bytes] == ',')) {
        bytes = strcspn(url, ",");
        char *scheme = memmem(url, bytes, "://", 3), *begin = scheme ? scheme + 3 : url;
        char *at = memrchr(begin, '@', bytes - (size_t)(begin - url));
        if (at)
            memset(begin, 'x', (size_t)(at - begin));
    }
}

static void erase_arguments(int argc, char **argv) {
    static const char *const schemes[] = {"nats://", "tls://"};
    for (int at = 1; at < argc; at++)
        for (size_t scheme = 0; scheme < sizeof schemes / sizeof *schemes; scheme++)
            if (strstr(argv[at], schemes[scheme]))
                erase_urls(strstr(argv[at], schemes[scheme]));
}

char **config_keep_arguments(int argc, char **argv) {
    char **kept = calloc((size_t)argc + 1, sizeof *kept);
    bool all = kept != NULL;
    for (int at = 0; all && at < argc; at++)
        all = (kept[at] = strdup(argv[at])) != NULL;
    erase_arguments(argc, argv);
    if (all)
        return kept;
    for (int at = 0; kept && at < argc; at++)
        free(kept[at]);
    free(kept);
    return NULL;
}
