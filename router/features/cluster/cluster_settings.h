// Settings of the NATS servers and their credentials. Fixed while the hub runs.
#pragma once

#include "core/cluster/nats_server.h"
#include "io/address.h"

struct resolver;
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
    bool insecure; // the hub may use servers on other machines without TLS and credentials
    struct secure_source *authorities; // for checking servers' certificates; NULL: there are none
    const struct resolver *resolver;   // looks names up; NULL: there is no resolver
    // Reads the file with the hub's credentials. Called for each handshake, and nothing is kept. Returns NULL, or
    // static text that says why the file can't be used.
    const char *(*read_creds)(const char *path, struct nats_creds *out);
    const char *creds; // path of the credentials' file; NULL: there is none
};

// Returns whether a server can be used safely: it is on this machine, or it is used with TLS and the hub shows
// credentials.
static inline bool cluster_server_is_safe(const struct cluster_settings *settings,
                                          const struct cluster_server *server) {
    const struct nats_url *url = &server->url;
    return address_is_local(&server->address) ||
           (url->secure && (settings->creds || url->password[0] || url->token[0]));
}
