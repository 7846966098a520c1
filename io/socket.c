// Questions to one socket, and settings of one, at once and beside the backends.
#include <linux/filter.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "io/io.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

#ifndef SO_BUF_LOCK
#define SO_BUF_LOCK 72 // Linux 5.14
#endif

bool io_is_peer_gone(struct io *io, int socket) {
    (void)io;
    struct pollfd look = {.fd = socket};
    return poll(&look, 1, 0) == 1 && look.revents & (POLLHUP | POLLERR);
}

void io_peer_origin(struct io *io, int socket, struct io_origin *out) {
    (void)io;
    struct sockaddr_storage name = {0};
    socklen_t bytes = sizeof name;
    struct ucred who;
    socklen_t who_bytes = sizeof who;
    *out = (struct io_origin){0};
    if (getpeername(socket, (struct sockaddr *)&name, &bytes))
        return; // it has gone
    if (name.ss_family == AF_INET) {
        out->is_v4 = true;
        memcpy(out->address, &((const struct sockaddr_in *)&name)->sin_addr, sizeof(struct in_addr));
    } else if (name.ss_family == AF_INET6) {
        memcpy(out->address, &((const struct sockaddr_in6 *)&name)->sin6_addr, sizeof(struct in6_addr));
    } else if (name.ss_family == AF_UNIX &&
               getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &who_bytes) == 0) {
        out->is_user = true;
        out->user = who.uid;
    }
}

// TCP counts what was acknowledged; a Unix socket knows what hasn't been read yet.
uint32_t io_ack_mark(struct io *io, int socket) {
    (void)io;
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    int unread = 0;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
        bytes >= offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked)
        return (uint32_t)info.tcpi_bytes_acked;
    return ioctl(socket, SIOCOUTQ, &unread) == 0 ? (uint32_t)unread : 0;
}

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

// How much the kernel keeps for a peer that doesn't keep up. TCP acknowledges what comes as it is read, so where the way is
// short a small send buffer bounds what is unread, too. Over a long way much has to be under way, as much as it is long: there
// only what waits behind that is bounded.
void io_limit_backlog(struct io *io, int socket, uint32_t bytes) {
    (void)io;
    int unsent = (int)bytes;
    if (setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent) < 0) // a Unix socket
        return;
    if (bytes > 0)
        bound(socket, bytes);
    else
        unbound(socket);
}

// One hub takes over from another without losing a connection. Both listen on the same address
// (SO_REUSEPORT). The one that ends tells the kernel to give all new connections to the other, while it still
// accepts those that were on their way.
//
// The kernel keeps the sockets of an address in the order in which they began to listen, and asks a filter
// which one a new connection is for. The filter says the second. Where there is no second one, the kernel
// chooses as it does without a filter, so a hub that is alone goes on by itself. When the first one is
// closed, the second takes its place, and the filter names a socket that isn't there.
void io_yield_listener(struct io *io, int socket) {
    (void)io;
    struct sock_filter second = BPF_STMT(BPF_RET | BPF_K, 1);
    struct sock_fprog program = {.len = 1, .filter = &second};
    // Refused where addresses can't be shared (Unix sockets): there the path leads to the other already.
    (void)setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
}
