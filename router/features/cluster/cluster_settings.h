// How other hubs are reached, through NATS: settings that stay.
#pragma once

#include "core/cluster/nats_server.h"
#include "io/address.h"

struct resolver;
struct secure_source;

enum { CLUSTER_SERVERS_MAX = 16 };

struct cluster_server {
    struct nats_url url;
    char shown[NATS_URL_HOST_BYTES_MAX + 1]; // whom its certificate must be for, over TLS
    struct address address;                  // bytes 0: it isn't known, the host is a name
};

struct cluster_settings {
    struct cluster_server servers[CLUSTER_SERVERS_MAX];
    uint32_t server_count;
    bool insecure; // servers on other machines may be spoken to without TLS and credentials
    struct secure_source *authorities; // what TLS to servers is made from; NULL: there is none
    const struct resolver *resolver;   // looks names up; NULL: there is none
    // Reads the file that shows who the hub is: it is read each time that a server wants to know, and kept by nobody. NULL, or
    // static text that says why it can't be used.
    const char *(*read_creds)(const char *path, struct nats_creds *out);
    const char *creds; // its path; NULL: there is none
};

// Whether what is said there stays between the hub and a server that has shown who it is, and shows who the hub is; or nobody else
// could hear it.
static inline bool cluster_server_is_safe(const struct cluster_settings *settings,
                                          const struct cluster_server *server) {
    const struct nats_url *url = &server->url;
    return address_is_local(&server->address) ||
           (url->secure && (settings->creds || url->password[0] || url->token[0]));
}
