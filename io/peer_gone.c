#include <poll.h>

#include "io/io.h"

bool io_peer_gone(struct io *io, int socket) {
    (void)io;
    struct pollfd look = {.fd = socket};
    return poll(&look, 1, 0) == 1 && look.revents & (POLLHUP | POLLERR);
}
