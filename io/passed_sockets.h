// Listening sockets that the service manager has opened and passed on (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, as
// sd_listen_fds_with_names does). The manager keeps its own descriptors: connections wait there while no hub runs.
#pragma once

#include <stdint.h>

#include "io/address.h"

enum { PASSED_SOCKETS_MAX = 16, PASSED_NAME_BYTES = 64 };

struct passed_socket {
    int socket;
    struct address address;       // as bound; without a transport
    char name[PASSED_NAME_BYTES]; // the manager's name for the socket; empty: none, or too long
};

// Takes the sockets that were passed to this process. Must be called once, at start. Sets close-on-exec and clears the
// variables, so that no child gets the sockets. Returns 0, also without sockets. Returns -EINVAL with *why set to
// static text if the count isn't valid, or a descriptor isn't a listening stream socket.
int passed_sockets_take(const char **why);
// Returns all sockets that were taken.
const struct passed_socket *passed_sockets_all(uint32_t *count);
// Returns the passed socket that is bound to this address, or NULL.
const struct passed_socket *passed_sockets_find(const struct address *address);
