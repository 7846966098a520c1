// The resolver: a process that looks up names of hosts. A lookup may take long, and needs files, sockets and
// whatever else the system is told to look in. Nothing of that is within the hub's own sandbox. The resolver
// is forked before the hub has threads, and ends with it.
//
//   question    hub → resolver, one packet
//   answer      resolver → hub, likewise; of several, in whatever order they are known
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { RESOLVER_ADDRESSES_MAX = 8, RESOLVER_HOST_BYTES_MAX = 253, RESOLVER_S = 30 };

struct resolver_question {
    uint32_t number; // the answer bears it, too
    uint16_t port;
    char host[RESOLVER_HOST_BYTES_MAX + 1]; // terminated
};

struct resolver_answer {
    uint32_t number;
    int32_t fault;  // 0, or as of getaddrinfo
    uint32_t count; // of addresses, in the order in which they are to be tried
    struct {
        uint32_t bytes;
        struct sockaddr_storage address; // with the port
    } addresses[RESOLVER_ADDRESSES_MAX];
};

struct privdrop_user;

struct resolver {
    int socket; // the hub's end
    pid_t process;
};

// Forks it; it becomes that user, if there is one. 0 or -errno. In the resolver itself this never returns.
int resolver_fork(struct resolver *resolver, const struct privdrop_user *user);
// Lets it go.
void resolver_close(struct resolver *resolver);
