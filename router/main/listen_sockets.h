// Where the hub listens.
#pragma once

#include "io/listener.h"
#include "io/privdrop.h"
#include "router/main/config.h"

struct listen_sockets {
    struct listener listeners[LISTENERS_MAX];
    bool passed[LISTENERS_MAX]; // by the service manager, which has them still
    uint32_t count;             // that are open
};

// Opens what the configuration names; the files of Unix sockets are the account's, if there is one. False when one can't be: it has
// been said, and counts among config->faults where the configuration is to blame.
bool listen_sockets_open(struct listen_sockets *listening, struct config *config,
                         const struct privdrop_user *user);
// Closes what is open.
void listen_sockets_close(struct listen_sockets *listening);
