// How much the kernel keeps for a peer that doesn't keep up. TCP acknowledges what comes as it is read, so where the way is
// short a small send buffer bounds what is unread, too. Over a long way much has to be under way, as much as it is long: there
// only what waits behind that is bounded.
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "io/io.h"

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72 // Linux 5.14
#endif

enum {
    SEND_BUFFER_BYTES =
        4 * 1024 * 1024, // where the kernel doesn't choose again; it takes as much as it allows
    SHORT_WAY_US = 500,  // there and back: with 128 KiB under way that is 260 MB/s
};

static bool is_near(int socket) {
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           bytes >= offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt &&
           info.tcpi_min_rtt < SHORT_WAY_US;
}

// Bounds what isn't acknowledged.
static void bound(int socket, uint32_t bytes) {
    int most = (int)bytes;
    if (is_near(socket))
        (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
}

// Has the kernel choose again, if it doesn't.
static void unbound(int socket) {
    int most = SEND_BUFFER_BYTES, locked = 0, unlocked = 0;
    if (getsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &locked, &(socklen_t){sizeof locked}) == 0 && !locked)
        return;
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
    (void)setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof unlocked);
}

void io_narrow(struct io *io, int socket, uint32_t bytes) {
    (void)io;
    int unsent = (int)bytes;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent) < 0) // a Unix socket
        return;
    if (bytes > 0)
        bound(socket, bytes);
    else
        unbound(socket);
}
