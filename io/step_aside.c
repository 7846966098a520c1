// How one hub takes over from another without a connection lost: both listen on the same address
// (SO_REUSEPORT), and the one that ends tells the kernel to give all new connections to the other, while it
// still accepts those that were on their way.
//
// The kernel keeps the sockets of an address in the order in which they began to listen and asks a filter
// which one a new connection is for. The filter says the second. Where there is none, the kernel chooses as
// it does without a filter, so a hub that is alone goes on by itself. When the first one is closed, the
// second takes its place, and the filter means nobody again.
#include <linux/filter.h>
#include <sys/socket.h>

#include "io/io.h"

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

void io_step_aside(struct io *io, int socket) {
    (void)io;
    struct sock_filter second = BPF_STMT(BPF_RET | BPF_K, 1);
    struct sock_fprog program = {.len = 1, .filter = &second};
    // Refused where addresses can't be shared (Unix sockets): there the path leads to the other already.
    (void)setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
}
