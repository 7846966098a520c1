#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "io/io.h"

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
        memcpy(out->address, &((const struct sockaddr_in *)&name)->sin_addr, sizeof(struct in_addr));
    } else if (name.ss_family == AF_INET6) {
        memcpy(out->address, &((const struct sockaddr_in6 *)&name)->sin6_addr, sizeof(struct in6_addr));
    } else if (name.ss_family == AF_UNIX &&
               getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &who_bytes) == 0) {
        out->is_user = true;
        out->user = who.uid;
    }
}
