// The sockets on which the hub listens.
#pragma once

#include "io/listener.h"
#include "io/privdrop.h"
#include "router/main/config.h"

struct listen_sockets {
    struct listener listeners[LISTENERS_MAX];
    bool passed[LISTENERS_MAX]; // the service manager has passed the socket, and keeps its own descriptor
    uint32_t count;             // sockets that are open
};

// Opens the sockets that the configuration names. The files of Unix sockets get `user` as their owner, if it isn't
// NULL. Returns false if a socket can't be opened: the error has been logged then, and counted in config->faults if the
// configuration is to blame.
bool listen_sockets_open(struct listen_sockets *listening, struct config *config,
                         const struct privdrop_user *user);
// Closes the sockets that are open.
void listen_sockets_close(struct listen_sockets *listening);
