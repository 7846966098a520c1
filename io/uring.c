// The seam of io/io.h over io_uring.
//
// It goes well: each verb fills one submission; io_run lends buffers, enters the kernel once for all of it
// and waits; io_next turns completions into events, straight from the completion ring.
//
// It fails: an operation's failure is its event's result. A full submission queue is handed over early;
// completions that found no room stay with the kernel and come at the next io_run. What the hub does for
// itself (close, cancel, wake) completes in silence, and its failures mean that there was nothing left to do.
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/memory.h"
#include "io/backend.h"
#include "io/signals.h"
#include "io/spin.h"
#include "io/uring_lend.h"
#include "io/uring_ring.h"

// What a completion belongs to: the top 8 bits of its user data. One token may have a receive and a send
// under way.
enum kind {
    KIND_ACCEPT = 1,
    KIND_RECEIVE,
    KIND_SEND,
    KIND_SIGNAL,
    KIND_WRITE,
    KIND_SYNC,
    KIND_WAKE,   // another shard's io_wake
    KIND_SILENT, // of nobody's interest
};

enum { TOKEN_BITS = 56, IO_MAGIC = 0x696f7572 };

struct uring_io {
    struct io io;
    uint32_t magic;
    unsigned gathered; // where the completions end that the last io_run saw
    bool woken;
    struct spin spin;
    struct signals signals;
    struct ring ring;
    struct lend lend;
};

static uint64_t user_data(enum kind kind, uint64_t token) {
    assert(token >> TOKEN_BITS == 0);
    return (uint64_t)kind << TOKEN_BITS | token;
}

static enum kind kind_of(const struct io_uring_cqe *cqe) {
    return (enum kind)(cqe->user_data >> TOKEN_BITS);
}

static struct uring_io *of(struct io *io) {
    return (struct uring_io *)io;
}

static struct io_uring_sqe *note(struct uring_io *io, int operation, int socket, uint64_t data) {
    struct io_uring_sqe *sqe = ring_note(&io->ring);
    io_uring_prep_rw(operation, sqe, socket, NULL, 0, 0);
    sqe->user_data = data;
    return sqe;
}

static struct io_uring_sqe *note_silent(struct uring_io *io, int operation, int socket) {
    struct io_uring_sqe *sqe = note(io, operation, socket, user_data(KIND_SILENT, 0));
    sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
    return sqe;
}

static void uring_accept(struct io *io, int socket, uint64_t token) {
    struct io_uring_sqe *sqe = note(of(io), IORING_OP_ACCEPT, socket, user_data(KIND_ACCEPT, token));
    sqe->ioprio = IORING_ACCEPT_MULTISHOT;
    sqe->accept_flags = SOCK_CLOEXEC;
}

static void uring_receive(struct io *io, int socket, uint64_t token, bool once) {
    struct io_uring_sqe *sqe = note(of(io), IORING_OP_RECV, socket, user_data(KIND_RECEIVE, token));
    sqe->flags = IOSQE_BUFFER_SELECT;
    sqe->buf_group = LEND_GROUP;
    sqe->ioprio = once ? 0 : IORING_RECV_MULTISHOT;
}

static void uring_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes) {
    struct io_uring_sqe *sqe = note(of(io), IORING_OP_RECV, socket, user_data(KIND_RECEIVE, token));
    sqe->addr = (uintptr_t)memory;
    sqe->len = bytes > INT_MAX ? INT_MAX : (uint32_t)bytes;
}

static void uring_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors,
                       unsigned count) {
    bool single = count == 1 && vectors->iov_len <= INT_MAX;
    struct io_uring_sqe *sqe =
        note(of(io), single ? IORING_OP_SEND : IORING_OP_SENDMSG, socket, user_data(KIND_SEND, token));
    // With MSG_WAITALL the kernel goes on by itself when the socket takes only a part.
    sqe->msg_flags = MSG_WAITALL | MSG_NOSIGNAL;
    if (single) {
        sqe->addr = (uintptr_t)vectors->iov_base;
        sqe->len = (uint32_t)vectors->iov_len;
        return;
    }
    struct msghdr *message = ring_message(&of(io)->ring, sqe);
    message->msg_iov = (struct iovec *)vectors;
    message->msg_iovlen = count;
    sqe->addr = (uintptr_t)message;
    sqe->len = 1;
}

static void uring_cancel(struct io *io, int socket, uint64_t token) {
    (void)socket; // the token is enough
    // The kind is part of what the kernel looks for; the one that isn't there fails in silence.
    note_silent(of(io), IORING_OP_ASYNC_CANCEL, -1)->addr = user_data(KIND_RECEIVE, token);
    note_silent(of(io), IORING_OP_ASYNC_CANCEL, -1)->addr = user_data(KIND_ACCEPT, token);
}

static void uring_shutdown(struct io *io, int socket, int how) {
    // io_uring hands a shutdown to a worker thread, which looks the descriptor up when it gets to it: by then
    // a close may have been done and the number be another connection's. So what was noted before goes first,
    // then this.
    ring_submit(&of(io)->ring);
    of(io)->ring.entries++;
    shutdown(socket, how);
}

static void uring_close_socket(struct io *io, int socket) {
    note_silent(of(io), IORING_OP_CLOSE, socket);
}

static void uring_file_write(struct io *io, const struct io_file *file, uint64_t token,
                             const struct iovec *vectors, unsigned count) {
    // The file was opened for appending: the offset, 0, means nothing.
    struct io_uring_sqe *sqe = note(of(io), IORING_OP_WRITEV, file->number, user_data(KIND_WRITE, token));
    sqe->addr = (uintptr_t)vectors;
    sqe->len = count;
}

static void uring_file_sync(struct io *io, const struct io_file *file, uint64_t token) {
    note(of(io), IORING_OP_FSYNC, file->number, user_data(KIND_SYNC, token))->fsync_flags =
        IORING_FSYNC_DATASYNC;
}

static void uring_wake(struct io *io, struct io *other) {
    note_silent(of(io), IORING_OP_MSG_RING, of(other)->ring.uring.ring_fd)->off = user_data(KIND_WAKE, 0);
}

static void watch_signals(struct uring_io *io) {
    struct io_uring_sqe *sqe = ring_note(&io->ring);
    io_uring_prep_poll_multishot(sqe, io->signals.descriptor, POLLIN);
    sqe->user_data = user_data(KIND_SIGNAL, 0);
}

static int uring_signals(struct io *io, uint64_t token) {
    int result = signals_route(&of(io)->signals, token);
    if (result == 0)
        watch_signals(of(io));
    return result;
}

static bool next_signal(struct uring_io *io, struct io_event *event) {
    io->ring.entries++;
    return signals_next(&io->signals, event);
}

// Takes the completions off the front that nobody waits for; whether one is left that somebody does.
static bool skip_silent(struct uring_io *io) {
    unsigned tail = ring_tail(&io->ring);
    for (;;) {
        const struct io_uring_cqe *cqe = ring_front(&io->ring, tail);
        if (!cqe)
            return false;
        enum kind kind = kind_of(cqe);
        if (kind != KIND_WAKE && kind != KIND_SILENT)
            return true;
        io->woken |= kind == KIND_WAKE;
        io_uring_cq_advance(&io->ring.uring, 1);
    }
}

static uint64_t wait_until(uint64_t deadline_ns) {
    if (deadline_ns == 0 || deadline_ns == UINT64_MAX)
        return deadline_ns;
    uint64_t now_ns = io_clock_ns();
    return deadline_ns > now_ns ? deadline_ns - now_ns : 0;
}

// Enters without waiting, once and then as often as something stirs. False when the time has passed without a
// reason to return.
static bool spin(struct uring_io *io, uint64_t until_ns) {
    for (;;) {
        ring_enter(&io->ring, 0);
        io->io.now_ns = io_clock_ns();
        if (skip_silent(io) || io->woken)
            return true;
        for (; !ring_stirs(&io->ring); io->io.now_ns = io_clock_ns()) {
            if (io->io.now_ns >= until_ns)
                return false;
            spin_pause();
        }
    }
}

static void wait(struct uring_io *io, uint64_t deadline_ns) {
    bool ready = skip_silent(io);
    do {
        ring_enter(&io->ring, ready || io->woken ? 0 : wait_until(deadline_ns));
        io->io.now_ns = io_clock_ns();
        ready = skip_silent(io);
    } while (!ready && !io->woken && io->io.now_ns < deadline_ns);
}

static void uring_run(struct io *base, uint64_t deadline_ns) {
    struct uring_io *io = of(base);
    assert(io->magic == IO_MAGIC);
    lend_fill(&io->lend);
    uint64_t began_ns = io->spin.max_ns ? io_clock_ns() : 0;
    bool spins = spin_pays(&io->spin) && deadline_ns > began_ns;
    if (!spins || !spin(io, spin_end(&io->spin, began_ns, deadline_ns)))
        wait(io, deadline_ns);
    if (io->spin.max_ns)
        spin_learn(&io->spin, base->now_ns - began_ns);
    io->woken = false;
    // A verb that finds the queue full submits, and what completes by that must wait for its turn: a handler
    // that keeps making events can't keep the loop from running.
    io->gathered = ring_tail(&io->ring);
}

static void fill_received(struct uring_io *io, const struct io_uring_cqe *cqe, struct io_event *event) {
    event->kind = IO_RECEIVED;
    if (!(cqe->flags & IORING_CQE_F_BUFFER))
        return;
    struct buffer *buffer = lend_return(&io->lend, cqe->flags >> IORING_CQE_BUFFER_SHIFT);
    if (cqe->res > 0)
        event->buffer = buffer;
    else
        buffer_drop(buffer);
}

// Whether the completion is an event by itself.
static bool fill_event(struct uring_io *io, const struct io_uring_cqe *cqe, struct io_event *event) {
    *event = (struct io_event){
        .more = cqe->flags & IORING_CQE_F_MORE,
        .result = cqe->res,
        .token = cqe->user_data & ((UINT64_C(1) << TOKEN_BITS) - 1),
    };
    switch (kind_of(cqe)) {
    case KIND_ACCEPT:
        event->kind = IO_ACCEPTED;
        return true;
    case KIND_RECEIVE:
        fill_received(io, cqe, event);
        return true;
    case KIND_SEND:
        event->kind = IO_SENT;
        return true;
    case KIND_WRITE:
        event->kind = IO_WRITTEN;
        return true;
    case KIND_SYNC:
        event->kind = IO_SYNCED;
        return true;
    case KIND_SIGNAL:
        io->signals.ready = true;
        if (!event->more)
            watch_signals(io);
        return false;
    case KIND_WAKE:
    case KIND_SILENT:
        return false;
    }
    assert(false);
    return false;
}

static bool uring_next(struct io *base, struct io_event *event) {
    struct uring_io *io = of(base);
    for (;;) {
        if (io->signals.ready && next_signal(io, event))
            return true;
        const struct io_uring_cqe *cqe = ring_front(&io->ring, io->gathered);
        if (!cqe)
            return false;
        bool whole = fill_event(io, cqe, event);
        io_uring_cq_advance(&io->ring.uring, 1);
        if (whole)
            return true;
    }
}

static uint64_t uring_entries(const struct io *io) {
    return ((const struct uring_io *)io)->ring.entries;
}

// Runs one operation to its next event; false when there is none at once.
static bool step(struct io *io, struct io_event *event) {
    uring_run(io, 0);
    return uring_next(io, event);
}

// Multishot receive has no feature bit: one byte through a pair of sockets tells, and the end of the pair
// ends it. Linux 6.1 tries again at once after an arrival: where that took the only buffer, the receive has
// ended before the pair does, for want of another.
static bool multishot_works(struct io *io) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    struct io_event event = {0};
    uring_receive(io, pair[0], 0, false);
    bool works = write(pair[1], "x", 1) == 1 && step(io, &event) && event.result == 1 && event.more;
    buffer_drop(event.buffer);
    close(pair[1]);
    if (works)
        works = step(io, &event) && (event.result == 0 || event.result == -ENOBUFS) && !event.more;
    close(pair[0]);
    return works;
}

static int try_out(struct uring_io *io, const char **why) {
    lend_fill(&io->lend);
    if (io->lend.free_count == io->lend.count) {
        *why = "the memory bound leaves no receive buffer";
        return -ENOMEM;
    }
    if (!multishot_works(&io->io)) {
        *why = "the kernel's io_uring lacks multishot receive";
        return -EOPNOTSUPP;
    }
    return 0;
}

static int open_rings(struct uring_io *io, const struct io_options *options, const char **why) {
    int result = ring_open(&io->ring, io->spin.max_ns > 0, why);
    if (result < 0)
        return result;
    result = lend_open(&io->lend, &io->ring.uring, options->pool, options->buffers_lent, why);
    if (result < 0)
        ring_close(&io->ring);
    return result;
}

static void uring_close(struct io *base) {
    struct uring_io *io = of(base);
    assert(io->magic == IO_MAGIC);
    ring_submit(&io->ring);
    lend_close(&io->lend, &io->ring.uring);
    ring_close(&io->ring);
    signals_unroute(&io->signals);
    io->magic = 0;
    memory_give(io);
}

static int uring_open(struct io **out, const struct io_options *options, const char **why) {
    struct uring_io *io = memory_take_zeroed(1, sizeof *io);
    if (!io) {
        *why = "out of memory";
        return -ENOMEM;
    }
    io->io.verbs = &uring_verbs;
    io->magic = IO_MAGIC;
    io->spin.max_ns = options->spin_ns;
    signals_init(&io->signals);
    int result = open_rings(io, options, why);
    if (result < 0) {
        memory_give(io);
        return result;
    }
    result = try_out(io, why);
    if (result < 0) {
        uring_close(&io->io);
        return result;
    }
    io->io.now_ns = io_clock_ns();
    *out = &io->io;
    return 0;
}

const struct io_verbs uring_verbs = {
    .name = "uring",
    .open = uring_open,
    .close = uring_close,
    .accept = uring_accept,
    .receive = uring_receive,
    .receive_into = uring_receive_into,
    .send = uring_send,
    .cancel = uring_cancel,
    .shutdown = uring_shutdown,
    .close_socket = uring_close_socket,
    .file_write = uring_file_write,
    .file_sync = uring_file_sync,
    .signals = uring_signals,
    .wake = uring_wake,
    .run = uring_run,
    .next = uring_next,
    .entries = uring_entries,
};
