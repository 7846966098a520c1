// Listening sockets that the service manager has opened and passed on (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, as
// sd_listen_fds_with_names does). The manager keeps its own descriptors of them: connections wait there while no hub runs.
#pragma once

#include <stdint.h>

#include "io/address.h"

enum { PASSED_SOCKETS_MAX = 16, PASSED_NAME_BYTES = 64 };

struct passed_socket {
    int socket;
    struct address address;       // as bound; no transport is named
    char name[PASSED_NAME_BYTES]; // that the manager gives it; empty: none, or one that is longer
};

// Takes the sockets that are passed to this process, once, at its start. They are closed on exec and taken out of the
// environment, so that no child has any of them. 0, also where none is passed. -EINVAL with *why set to static text: the
// count is no number or too large, or a descriptor is no stream socket that listens.
int passed_sockets_take(const char **why);
// Returns all sockets that were taken.
const struct passed_socket *passed_sockets_all(uint32_t *count);
// Returns the socket that is bound to this address; NULL: no passed socket is.
const struct passed_socket *passed_sockets_find(const struct address *address);
