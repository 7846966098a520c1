// How much the kernel keeps for a peer that doesn't keep up. TCP on one machine acknowledges what comes as it is read, so a
// small send buffer bounds what is unread, too. Over a network what is under way has to be kept, and is as much as the way
// is long: there only what waits behind it is bounded.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "io/io.h"

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72 // Linux 5.14
#endif

enum {
    SEND_BUFFER_BYTES = 4 * 1024 * 1024
}; // where the kernel doesn't choose again; it takes as much as it allows

static bool on_this_machine(int socket) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own, peer;
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
    if (getsockname(socket, &own.any, &own_bytes) < 0 || getpeername(socket, &peer.any, &peer_bytes) < 0 ||
        own.any.sa_family != peer.any.sa_family)
        return false;
    if (own.any.sa_family == AF_INET)
        return own.v4.sin_addr.s_addr == peer.v4.sin_addr.s_addr;
    return own.any.sa_family == AF_INET6 &&
           memcmp(&own.v6.sin6_addr, &peer.v6.sin6_addr, sizeof own.v6.sin6_addr) == 0;
}

void io_narrow(struct io *io, int socket, uint32_t bytes) {
    (void)io;
    int most = bytes > 0 ? (int)bytes : SEND_BUFFER_BYTES, unsent = (int)bytes, unlocked = 0;
    if (!on_this_machine(socket)) {
        (void)setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
        return;
    }
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
    if (bytes == 0)
        (void)setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof unlocked);
}
