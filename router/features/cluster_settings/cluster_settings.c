#include "router/features/cluster_settings/cluster_settings.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/cluster/subject.h"
#include "core/rights/digest.h"
#include "io/plain_file.h"
#include "io/secure.h"
#include "io/tls.h"
#include "router/engine/shard/hub.h"
#include "router/engine/shard/option.h"
#include "router/features/feature_list.h"

enum { URLS_BYTES_MAX = 4096 };

// --- Servers

static const char bad_place[] =
    "a server's HOST:PORT: a name or a numeric address, and a port from 1 to 65535";

static bool is_numeric(const struct nats_url *url) {
    return url->is_v6 || url->host[strspn(url->host, "0123456789.")] == '\0';
}

// Reads one URL of --nats. Returns NULL, or what is expected. Shows nothing of the URL, which may hold a password.
static const char *read_server(struct cluster_settings *cluster, const char *text, size_t bytes) {
    if (cluster->server_count == CLUSTER_SERVERS_MAX)
        return "16 servers at most";
    struct cluster_server *server = &cluster->servers[cluster->server_count];
    assert(bytes > 0 && bytes < URLS_BYTES_MAX);
    *server = (struct cluster_server){.shown = ""};
    bool names_scheme = memmem(text, bytes, "://", 3) || cluster->server_count == 0;
    switch (names_scheme ? nats_url_read(text, bytes, &server->url)
                         : nats_url_read_as(text, bytes, server[-1].url.secure, &server->url)) {
    case NATS_URL_BAD_SCHEME:
        return "servers as nats:// or tls:// and HOST:PORT, with USER:PASSWORD or TOKEN and an at sign "
               "before HOST, and a comma without blanks between two servers";
    case NATS_URL_BAD_CREDENTIAL:
        return "a server's USER:PASSWORD or TOKEN of 1 to 255 bytes each, in which %XX is a byte";
    case NATS_URL_BAD_PLACE:
        return bad_place;
    case NATS_URL_GOOD:
        break;
    }
    memcpy(server->shown, server->url.host, sizeof server->shown);
    if (!address_place(&server->address, server->url.host, server->url.is_v6, server->url.port) &&
        is_numeric(&server->url))
        return bad_place;
    cluster->server_count++;
    return NULL;
}

// Reads the URLs of --nats, with commas between them.
static const char *read_servers(struct cluster_settings *cluster, const char *text) {
    const char *expected = NULL;
    cluster->server_count = 0;
    if (strlen(text) >= URLS_BYTES_MAX)
        return "URLs with commas between them, 4 KiB at most";
    for (size_t bytes; *text && !expected; text += bytes + (text[bytes] == ',')) {
        bytes = strcspn(text, ",");
        expected = bytes > 0 ? read_server(cluster, text, bytes) : NULL;
    }
    assert(cluster->server_count <= CLUSTER_SERVERS_MAX);
    return expected || cluster->server_count > 0 ? expected : "one server at least";
}

static const char *read_path(char out[PATH_MAX], const char *text) {
    size_t bytes = strlen(text);
    for (size_t at = 0; at < bytes; at++)
        if ((unsigned char)text[at] < ' ' || text[at] == 0x7f)
            bytes = 0;
    if (bytes == 0 || bytes >= PATH_MAX)
        return "FILE of 1 to 4095 bytes without control characters";
    strcpy(out, text);
    return NULL;
}

static const char *read_name(struct hub_cluster *cluster, const char *text) {
    if (!subject_is_cluster(text))
        return "1 to 64 of A-Za-z0-9-_";
    assert(strlen(text) < sizeof cluster->name);
    strcpy(cluster->name, text);
    return NULL;
}

const char *cluster_settings_read(struct hub_settings *settings, const char *name, const char *text) {
    struct hub_cluster *cluster = &settings->cluster;
    if (strcmp(name, "cluster") == 0)
        return read_name(cluster, text);
    if (!cluster->settings)
        cluster->settings = memory_take_zeroed(1, sizeof *cluster->settings);
    if (!cluster->settings)
        return "more memory";
    if (strcmp(name, "nats") == 0)
        return read_servers(cluster->settings, text);
    bool is_creds = strcmp(name, "nats-credentials") == 0;
    assert(is_creds || strcmp(name, "nats-ca") == 0);
    return read_path(is_creds ? cluster->settings->creds : cluster->settings->authorities_path, text);
}

void cluster_settings_drop(struct hub_settings *settings) {
    struct cluster_settings *cluster = settings->cluster.settings;
    if (cluster) {
        secure_source_drop(cluster->authorities);
        digest_wipe(cluster, sizeof *cluster); // passwords and tokens of the servers' URLs
    }
    memory_give(cluster);
    settings->cluster.settings = NULL;
}

// --- Checks across options

static bool has_servers(const struct hub_settings *settings) {
    return settings->cluster.settings && settings->cluster.settings->server_count > 0;
}

static const char *check_servers(const struct cluster_settings *cluster, char fault[FEATURE_FAULT_BYTES]) {
    assert(cluster->server_count <= CLUSTER_SERVERS_MAX);
    for (uint32_t at = 0; at < cluster->server_count; at++) {
        const struct nats_url *url = &cluster->servers[at].url;
        if (cluster->insecure || cluster_server_is_safe(cluster, &cluster->servers[at]))
            continue;
        snprintf(fault, FEATURE_FAULT_BYTES,
                 "%s:%u isn't on this machine and %s, or --insecure, which joins it all the same", url->host,
                 url->port,
                 url->secure
                     ? "there are no credentials for it: expected USER:PASSWORD or TOKEN before its HOST, "
                       "--nats-credentials"
                     : "is spoken to without TLS: expected tls://");
        return "nats";
    }
    return NULL;
}

bool cluster_settings_needs_resolver(const struct hub_settings *settings) {
    for (uint32_t at = 0; has_servers(settings) && at < settings->cluster.settings->server_count; at++)
        if (!address_is_local(&settings->cluster.settings->servers[at].address))
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
static void name_hub(struct hub_cluster *cluster) {
    char name[256] = "";
    if (cluster->hub_name[0])
        return;
    bool is_good = gethostname(name, sizeof name - 1) == 0 && is_display_name(name);
    strcpy(cluster->hub_name, is_good ? name : "hub");
}

// Returns the name of an option that lacks another one, and writes the fault; or NULL.
static const char *check_pairs(const struct hub_settings *settings, char fault[FEATURE_FAULT_BYTES]) {
    const struct cluster_settings *cluster = settings->cluster.settings;
    bool has_name = settings->cluster.name[0] != '\0';
    const char *option = has_servers(settings) && !has_name                     ? "nats"
                         : !has_servers(settings) && has_name                   ? "cluster"
                         : !has_name && cluster && cluster->creds[0]            ? "nats-credentials"
                         : !has_name && cluster && cluster->authorities_path[0] ? "nats-ca"
                                                                                : NULL;
    if (option)
        snprintf(fault, FEATURE_FAULT_BYTES, "expected %s beside it",
                 has_servers(settings) ? "--cluster NAME"
                 : has_name            ? "--nats URL"
                                       : "--nats and --cluster");
    return option;
}

// Returns whether a server is to be reached over TLS.
static bool needs_tls(const struct cluster_settings *cluster) {
    assert(cluster->server_count <= CLUSTER_SERVERS_MAX);
    for (uint32_t at = 0; at < cluster->server_count; at++)
        if (cluster->servers[at].url.secure)
            return true;
    return cluster->authorities_path[0] != '\0';
}

static bool has_secret(const struct cluster_settings *cluster) {
    assert(memchr(cluster->creds, '\0', sizeof cluster->creds));
    bool has = cluster->creds[0] || needs_tls(cluster);
    for (uint32_t at = 0; at < cluster->server_count; at++)
        has = has || cluster->servers[at].url.password[0] || cluster->servers[at].url.token[0];
    return has;
}

const char *cluster_settings_check(struct hub_settings *settings, bool insecure,
                                   char fault[FEATURE_FAULT_BYTES]) {
    struct cluster_settings *cluster = settings->cluster.settings;
    if (settings->cluster.hub_name[0] && !is_display_name(settings->cluster.hub_name)) {
        strcpy(fault, "expected 1 to 64 printable ASCII characters without quotes and backslashes");
        return "hub-name";
    }
    const char *option = check_pairs(settings, fault);
    if (option || !cluster)
        return option;
    cluster->insecure = insecure;
    name_hub(&settings->cluster);
    settings->sandbox.may_dial = true;
    settings->sandbox.has_secret |= has_secret(cluster);
    settings->sandbox.files[FEATURE_CLUSTER] = cluster->creds[0] ? cluster->creds : NULL;
    return check_servers(cluster, fault);
}

// --- Files

static const char *parse_creds(int file, struct nats_creds *out) {
    char text[NATS_CREDS_FILE_BYTES_MAX + 1];
    size_t bytes;
    int failed = plain_file_read(file, text, sizeof text, &bytes);
    bool good = !failed && nats_creds_read(text, bytes, out);
    digest_wipe(text, sizeof text);
    return good     ? NULL
           : failed ? "expected a file that can be read"
                    : "expected one seed of a user's nkey in it: SU and 56 letters and digits";
}

const char *cluster_settings_read_creds(const struct cluster_settings *settings, struct nats_creds *out) {
    assert(settings->creds[0]);
    int file = plain_file_open(settings->creds);
    if (file < 0)
        return file == -ENOENT                          ? "expected a file that is there"
               : file == -EISDIR || file == -EOPNOTSUPP ? "expected a regular file"
                                                        : "expected a file that can be read";
    const char *fault = parse_creds(file, out);
    close(file);
    return fault;
}

// Returns NULL, or why the credentials can't be used.
static const char *try_creds(const struct cluster_settings *cluster) {
    struct nats_creds creds;
    char signature[NKEY_SIGNATURE_BYTES];
    if (!cluster->creds[0])
        return NULL;
    const char *fault = cluster_settings_read_creds(cluster, &creds);
    // A trial signature, with which the TLS library loads all that signing needs before the sandbox hides files
    if (!fault && !nats_creds_sign(&creds, "", 0, signature))
        fault = "expected a seed that signs: the library for TLS refuses this one";
    nats_creds_wipe(&creds);
    return fault;
}

// Returns whether a link to a server uses TLS, or may use it.
static bool needs_authorities(const struct cluster_settings *cluster) {
    assert(cluster->server_count > 0);
    bool needs = cluster->authorities_path[0] != '\0';
    for (uint32_t at = 0; at < cluster->server_count; at++)
        needs = needs || cluster->servers[at].url.secure || !address_is_local(&cluster->servers[at].address);
    return needs;
}

const char *cluster_settings_prepare(struct hub_settings *settings, char fault[FEATURE_FAULT_BYTES]) {
    struct cluster_settings *cluster = settings->cluster.settings;
    char why[PATH_MAX + 128];
    if (!has_servers(settings) || !settings->cluster.name[0])
        return NULL;
    const char *path = cluster->authorities_path[0] ? cluster->authorities_path : NULL;
    assert(!cluster->authorities);
    const char *bad_creds = try_creds(cluster);
    if (bad_creds) {
        snprintf(fault, FEATURE_FAULT_BYTES, "%s: %s", cluster->creds, bad_creds);
        return "nats-credentials";
    }
    if (needs_authorities(cluster))
        cluster->authorities = tls_read_authorities(path, why, sizeof why);
    if (cluster->authorities || !needs_tls(cluster))
        return NULL;
    snprintf(fault, FEATURE_FAULT_BYTES, "TLS: %s", why);
    return path ? "nats-ca" : "nats";
}

// --- The options

const struct option cluster_settings_options[] = {
    {"nats", OPTION_PARSED, OPTIONS_CLUSTER, OPTION_SECRET, 0, 0, 0, 0, NULL, "URL[,URL...]", NULL, NULL,
     "join other hubs through a NATS server (2.9 or later): nats:// or "
     "tls://[USER:PASSWORD@|TOKEN@]HOST:PORT; more URLs name more servers"},
    {"nats-credentials", OPTION_PARSED, OPTIONS_CLUSTER, OPTION_SHOWN, 0, 0, 0, 0, NULL, "FILE", NULL, NULL,
     "file with the hub's credentials for the NATS server: .creds of nsc, or the seed of an nkey; read "
     "for each connection"},
    {"nats-ca", OPTION_PARSED, OPTIONS_CLUSTER, OPTION_SHOWN, 0, 0, 0, 0, NULL, "FILE", NULL, "the system's",
     "PEM file of authorities that may sign the NATS server's certificate"},
    {"cluster", OPTION_PARSED, OPTIONS_CLUSTER, 0, 0, 0, 0, 0, NULL, "NAME", NULL, NULL,
     "name of the cluster, the same for all hubs in it"},
    {"hub-name", OPTION_TEXT, OPTIONS_CLUSTER, 0, OPTION_FIELD(cluster.hub_name), 0, 0, NULL, "NAME", NULL,
     "the machine's name", "name of this hub in lists and logs"},
    {"realm-grace", OPTION_TIME, OPTIONS_CLUSTER, 0, OPTION_FIELD(cluster.realm_grace_ns), 0,
     24 * OPTION_HOUR, NULL, "TIME", "5m", NULL,
     "time after SIGHUP in which hubs that still have the former users file are served; 0s: none"},
    {.name = NULL},
};
