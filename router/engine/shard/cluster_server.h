// Other hubs, with which this one is joined through NATS: how they are reached.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/cluster/nats_server.h"
#include "core/cluster/subject.h"

struct resolver;
struct secure_source;

enum {
    CLUSTER_SERVERS_MAX = 16,
    HUB_DISPLAY_BYTES_MAX = 64,
    CLUSTER_SERVER_TEXT_BYTES = NATS_URL_HOST_BYTES_MAX + 8,
};

struct cluster_server {
    struct nats_url url;
    char shown[NATS_URL_HOST_BYTES_MAX + 1]; // whom its certificate must be for, over TLS
    struct sockaddr_storage address;
    uint32_t bytes; // of the address; 0: it isn't known, the host is a name
};

// The cluster's part of the hub's settings, as constant as these.
struct cluster_settings {
    char name[CLUSTER_NAME_BYTES_MAX + 1];
    char hub_name[HUB_DISPLAY_BYTES_MAX + 1]; // as lists and logs call this hub
    uint64_t realm_grace_ns;                  // so long hubs of the former REALM are served; 0: they aren't
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

// Finds the address where the host is a numeric one, or localhost; false where it is a name of another kind.
bool cluster_server_place(struct cluster_server *server);
// Writes HOST:PORT: a server as logs name it.
void cluster_server_text(const struct nats_url *url, char out[CLUSTER_SERVER_TEXT_BYTES]);
// Whether only this machine can reach it.
bool cluster_server_is_local(const struct cluster_server *server);
// Whether what is said there stays between the hub and a server that has shown who it is, and shows who the hub is; or nobody else
// could hear it.
bool cluster_server_is_safe(const struct cluster_settings *settings, const struct cluster_server *server);
