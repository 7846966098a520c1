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

// Takes what is passed to this process, once, at its start: closed on exec, and no longer in the environment, so that no child has
// any of it. 0, also where nothing is passed, or -EINVAL with *why set to static text: a count that is none, more than there may be,
// or a descriptor that is no stream socket that listens.
int passed_sockets_take(const char **why);
// Those that were taken.
const struct passed_socket *passed_sockets_all(uint32_t *count);
// The one that is bound to this address; NULL: there is none.
const struct passed_socket *passed_sockets_find(const struct address *address);
