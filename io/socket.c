// Queries and options of one socket, which act at once and don't depend on the backend.
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

void io_read_peer_address(struct io *io, int socket, struct io_peer_address *out) {
    (void)io;
    struct sockaddr_storage name = {0};
    socklen_t bytes = sizeof name;
    struct ucred who;
    socklen_t who_bytes = sizeof who;
    *out = (struct io_peer_address){0};
    if (getpeername(socket, (struct sockaddr *)&name, &bytes))
        return; // the peer has gone
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

// Returns the acknowledged bytes for TCP, the unread bytes for a Unix socket.
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
    // The send buffer if the kernel can't choose its size again (before Linux 5.14); the kernel caps this size
    SEND_BUFFER_BYTES = 4 * 1024 * 1024,
    SHORT_WAY_US = 500, // round trip; with 128 KiB in flight that is 260 MB/s
};

static bool is_near(int socket) {
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    return getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
           bytes >= offsetof(struct tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt &&
           info.tcpi_min_rtt < SHORT_WAY_US;
}

// Bounds the bytes that aren't acknowledged, if the peer is near.
static void bound(int socket, uint32_t bytes) {
    int most = (int)bytes;
    if (is_near(socket))
        (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
}

// Makes the kernel choose the send buffer's size again, if it doesn't.
static void unbound(int socket) {
    int most = SEND_BUFFER_BYTES, locked = 0, unlocked = 0;
    if (getsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &locked, &(socklen_t){sizeof locked}) == 0 && !locked)
        return;
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &most, sizeof most);
    (void)setsockopt(socket, SOL_SOCKET, SO_BUF_LOCK, &unlocked, sizeof unlocked);
}

// Bounds the bytes that the kernel keeps for a slow peer. A TCP peer acknowledges bytes as they are read. With a short
// round trip, a small send buffer therefore bounds unread bytes, too. A long round trip needs many bytes in flight:
// only the bytes that wait behind these are bounded.
void io_limit_backlog(struct io *io, int socket, uint32_t bytes) {
    (void)io;
    int unsent = (int)bytes;
    // Fails for a Unix socket
    if (setsockopt(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent) < 0)
        return;
    if (bytes > 0)
        bound(socket, bytes);
    else
        unbound(socket);
}

// Lets another hub take over without losing a connection. Both hubs listen on the same address (SO_REUSEPORT). The hub
// that ends makes the kernel give all new connections to the other hub, and still accepts the connections under way.
//
// The kernel keeps the sockets of an address in the order in which they began to listen. A filter returns the index of
// the socket that gets a connection: here 1, the second. Without a second socket, the kernel chooses as without a
// filter, so a single hub goes on. When the first socket is closed, the second takes index 0, and the filter's answer
// has no effect.
void io_yield_listener(struct io *io, int socket) {
    (void)io;
    struct sock_filter second = BPF_STMT(BPF_RET | BPF_K, 1);
    struct sock_fprog program = {.len = 1, .filter = &second};
    // Unix sockets refuse this option: their path belongs to the other hub already.
    (void)setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
}
