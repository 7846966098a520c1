// Other hubs, with which this one is joined through NATS: how they are reached.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/cluster/subject.h"

enum { CLUSTER_SERVERS_MAX = 16, CLUSTER_CREDENTIAL_BYTES_MAX = 255 };

struct cluster_server {
    struct sockaddr_storage address;
    uint32_t bytes;
    // What it asks to be shown; empty: nothing.
    char user[CLUSTER_CREDENTIAL_BYTES_MAX + 1], password[CLUSTER_CREDENTIAL_BYTES_MAX + 1];
    char token[CLUSTER_CREDENTIAL_BYTES_MAX + 1];
};

// Of the hub's settings, and as constant.
struct cluster_settings {
    char name[CLUSTER_NAME_BYTES_MAX + 1];
    struct cluster_server servers[CLUSTER_SERVERS_MAX];
    uint32_t server_count;
    bool remote; // servers on other machines may be spoken to, in the clear
};
