// The resolver: a process that looks up host names. A lookup may take long, and needs files and sockets that the hub's
// sandbox forbids. The resolver is forked before the hub has threads, and ends with the hub.
//
//     question    hub → resolver, one packet
//     answer      resolver → hub, one packet, in the order in which the lookups end
#pragma once

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

enum { RESOLVER_ADDRESSES_MAX = 8, RESOLVER_HOST_BYTES_MAX = 253, RESOLVER_S = 30 };

struct resolver_question {
    uint32_t number; // the answer has the same number
    uint16_t port;
    char host[RESOLVER_HOST_BYTES_MAX + 1]; // with a terminating zero
};

struct resolver_answer {
    uint32_t number;
    int32_t fault;  // 0, or an error of getaddrinfo
    uint32_t count; // number of addresses, in the order in which to try them
    struct {
        uint32_t bytes;
        struct sockaddr_storage address; // includes the port
    } addresses[RESOLVER_ADDRESSES_MAX];
};

struct privdrop_user;

struct resolver {
    int socket; // the hub's end
    pid_t process;
};

// Forks the resolver. With `user`, the resolver runs as this user. Returns 0 or -errno. Never returns in the resolver.
int resolver_fork(struct resolver *resolver, const struct privdrop_user *user);
// Closes the socket to the resolver, which then ends.
void resolver_close(struct resolver *resolver);
