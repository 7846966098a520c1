#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "io/io.h"

// TCP counts what was acknowledged; a Unix socket knows what hasn't been read yet.
uint32_t io_acked(struct io *io, int socket) {
    (void)io;
    struct tcp_info info;
    socklen_t bytes = sizeof info;
    int unread = 0;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 &&
        bytes >= offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked)
        return (uint32_t)info.tcpi_bytes_acked;
    return ioctl(socket, SIOCOUTQ, &unread) == 0 ? (uint32_t)unread : 0;
}
