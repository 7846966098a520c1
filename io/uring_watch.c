// Whether a peer that has half-closed goes altogether: a poll that tells of changes alone, since what can be
// read, the end, is there all the time.
#include <errno.h>
#include <poll.h>

#include "io/uring.h"

enum { GONE = POLLHUP | POLLERR };

void uring_watch(struct io *io, int socket, uint64_t token) {
    struct io_uring_sqe *sqe = ring_note(&uring_of(io)->ring);
    io_uring_prep_poll_multishot(sqe, socket, GONE);
    sqe->user_data = uring_data(KIND_GONE, token);
}

void uring_unwatch(struct io *io, int socket, uint64_t token) {
    (void)socket; // the token is enough
    uring_note_silent(uring_of(io), IORING_OP_ASYNC_CANCEL, -1)->addr = uring_data(KIND_GONE, token);
}

// The kernel tells of the half-close itself as well.
bool uring_gone(const struct io_uring_cqe *cqe, struct io_event *event) {
    event->kind = IO_GONE;
    if (cqe->res < 0)
        return true;
    event->result = cqe->res & GONE ? 0 : -EAGAIN;
    return event->result == 0 || !event->more;
}
