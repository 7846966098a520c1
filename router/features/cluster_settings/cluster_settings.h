// Options of the feature cluster: the NATS servers and their credentials. Reads the options, checks them, and reads
// their files. The settings are fixed while the hub runs. The module lies apart because features/cluster holds what
// joins hubs alone, and has a bound of lines for that (tests/check/structure).
#pragma once

#include <limits.h>

#include "core/cluster/nats_server.h"
#include "io/address.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/option.h"

struct secure_source;

enum { CLUSTER_SERVERS_MAX = 16 };

struct cluster_server {
    struct nats_url url;
    char shown[NATS_URL_HOST_BYTES_MAX + 1]; // the name that the server's TLS certificate must have
    struct address address;                  // bytes 0: unknown, since the host is a name
};

struct cluster_settings {
    struct cluster_server servers[CLUSTER_SERVERS_MAX];
    uint32_t server_count;
    bool insecure;                   // the hub may use servers on other machines without TLS and credentials
    char authorities_path[PATH_MAX]; // of the authorities' file; empty: the system's authorities are meant
    struct secure_source *authorities; // for checking servers' certificates; NULL: there are none
    char creds[PATH_MAX];              // path of the credentials' file; empty: there is none
};

// Returns whether a server can be used safely: it is on this machine, or it is used with TLS and the hub shows
// credentials.
static inline bool cluster_server_is_safe(const struct cluster_settings *settings,
                                          const struct cluster_server *server) {
    const struct nats_url *url = &server->url;
    return address_is_local(&server->address) ||
           (url->secure && (settings->creds[0] || url->password[0] || url->token[0]));
}

// Reads the hub's credentials from the file at settings->creds, for each handshake anew. Returns NULL, or static text
// that says why the file can't be used. The caller must wipe *out (nats_creds_wipe).
const char *cluster_settings_read_creds(const struct cluster_settings *settings, struct nats_creds *out);

// Rows and functions of struct feature.
extern const struct option cluster_settings_options[];
const char *cluster_settings_read(struct hub_settings *settings, const char *name, const char *text);
const char *cluster_settings_check(struct hub_settings *settings, bool insecure,
                                   char fault[FEATURE_FAULT_BYTES]);
const char *cluster_settings_prepare(struct hub_settings *settings, char fault[FEATURE_FAULT_BYTES]);
// Returns whether the hub may have to look up names of servers: names of --nats, or names that a server gives.
bool cluster_settings_needs_resolver(const struct hub_settings *settings);
void cluster_settings_drop(struct hub_settings *settings);
