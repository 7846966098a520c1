#include "io/uring.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/memory.h"

// Implements the seam of io/io.h over io_uring.
//
// Success: each verb fills one submission. io_run lends buffers, enters the kernel once for all submissions, and waits.
// io_next turns completions into events.
//
// Failure: a failed operation has its error in the event's result. A full submission queue is submitted early. The
// hub's internal operations (close, cancel, wake) report no success. Their failure means that there was nothing left to
// do.

static void uring_provide_buffers(struct io *io, uint32_t buffers) {
    uring_buffers_limit(&uring_of(io)->buffers, &uring_of(io)->ring, buffers);
}

static void uring_accept(struct io *io, int socket, uint64_t token) {
    struct io_uring_sqe *sqe =
        uring_note(uring_of(io), IORING_OP_ACCEPT, socket, uring_data(KIND_ACCEPT, token));
    sqe->ioprio = IORING_ACCEPT_MULTISHOT;
    sqe->accept_flags = SOCK_CLOEXEC;
}

static int uring_connect(struct io *io, int socket, const struct sockaddr *address, uint32_t bytes,
                         uint64_t token) {
    struct io_uring_sqe *sqe =
        uring_note(uring_of(io), IORING_OP_CONNECT, socket, uring_data(KIND_CONNECT, token));
    sqe->addr = (uintptr_t)address;
    sqe->off = bytes;
    return 0;
}

static void uring_receive(struct io *io, int socket, uint64_t token, uint32_t most) {
    struct io_uring_sqe *sqe =
        uring_note(uring_of(io), IORING_OP_RECV, socket, uring_data(KIND_RECEIVE, token));
    sqe->flags = IOSQE_BUFFER_SELECT;
    sqe->buf_group = URING_BUFFERS_GROUP;
    sqe->len = most; // 0: as many as the buffer has room for
    sqe->ioprio = most ? 0 : IORING_RECV_MULTISHOT;
}

static void uring_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes) {
    struct io_uring_sqe *sqe =
        uring_note(uring_of(io), IORING_OP_RECV, socket, uring_data(KIND_RECEIVE, token));
    sqe->addr = (uintptr_t)memory;
    sqe->len = bytes > INT_MAX ? INT_MAX : (uint32_t)bytes;
}

static void uring_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors,
                       unsigned count) {
    bool single = count == 1 && vectors->iov_len <= INT_MAX;
    struct io_uring_sqe *sqe = uring_note(uring_of(io), single ? IORING_OP_SEND : IORING_OP_SENDMSG, socket,
                                          uring_data(KIND_SEND, token));
    // MSG_WAITALL: the kernel continues by itself when the socket takes only a part.
    sqe->msg_flags = MSG_WAITALL | MSG_NOSIGNAL;
    if (single) {
        sqe->addr = (uintptr_t)vectors->iov_base;
        sqe->len = (uint32_t)vectors->iov_len;
        return;
    }
    struct msghdr *message = ring_message(&uring_of(io)->ring, sqe);
    message->msg_iov = (struct iovec *)vectors;
    message->msg_iovlen = count;
    sqe->addr = (uintptr_t)message;
    sqe->len = 1;
}

static void uring_cancel(struct io *io, int socket, uint64_t token) {
    (void)socket; // the token is enough
    // The kernel compares the whole user data, with the kind. The cancel for the kind that isn't there fails silently.
    uring_note_silent(uring_of(io), IORING_OP_ASYNC_CANCEL, -1)->addr = uring_data(KIND_RECEIVE, token);
    uring_note_silent(uring_of(io), IORING_OP_ASYNC_CANCEL, -1)->addr = uring_data(KIND_ACCEPT, token);
}

static void uring_shutdown(struct io *io, int socket, int how) {
    // Submits earlier operations, then shuts down by a system call. io_uring would give a shutdown to a worker thread,
    // which looks the descriptor up later. By then a close may have happened, and the number may mean another
    // connection.
    ring_submit(&uring_of(io)->ring);
    uring_of(io)->ring.entries++;
    shutdown(socket, how);
}

static void uring_close_socket(struct io *io, int socket) {
    uring_note_silent(uring_of(io), IORING_OP_CLOSE, socket);
}

static void uring_file_write(struct io *io, const struct io_file *file, uint64_t token,
                             const struct iovec *vectors, unsigned count) {
    // The file was opened for appending: the offset, 0, is ignored.
    struct io_uring_sqe *sqe =
        uring_note(uring_of(io), IORING_OP_WRITEV, file->number, uring_data(KIND_WRITE, token));
    sqe->addr = (uintptr_t)vectors;
    sqe->len = count;
}

static void uring_file_sync(struct io *io, const struct io_file *file, uint64_t token) {
    uring_note(uring_of(io), IORING_OP_FSYNC, file->number, uring_data(KIND_SYNC, token))->fsync_flags =
        IORING_FSYNC_DATASYNC;
}

static void uring_wake(struct io *io, struct io *other) {
    uring_note_silent(uring_of(io), IORING_OP_MSG_RING, uring_of(other)->ring.uring.ring_fd)->off =
        uring_data(KIND_WAKE, 0);
}

static int uring_signals(struct io *io, uint64_t token) {
    int result = signals_route(&uring_of(io)->signals, token);
    if (result == 0)
        uring_watch_signals(uring_of(io));
    return result;
}

static uint64_t uring_entries(const struct io *io) {
    return ((const struct uring_io *)io)->ring.entries;
}

static uint64_t uring_held_waits(const struct io *io) {
    return ((const struct uring_io *)io)->held;
}

static bool uring_is_restricted(const struct io *io) {
    return ((const struct uring_io *)io)->ring.restricted;
}

// Runs the io once. Returns whether there was an event.
static bool step(struct io *io, struct io_event *event) {
    uring_run(io, 0);
    return uring_next(io, event);
}

// Returns whether multishot receive works, for which there is no feature bit. Sends one byte through a socket pair, and
// then closes the pair. Linux 6.1 tries again at once after an arrival: if the arrival took the only buffer, the
// receive ends with -ENOBUFS before the pair's end.
static bool multishot_works(struct io *io) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    struct io_event event = {0};
    uring_receive(io, pair[0], 0, 0);
    bool works = write(pair[1], "x", 1) == 1 && step(io, &event) && event.result == 1 && event.more;
    buffer_drop(event.buffer);
    close(pair[1]);
    if (works)
        works = step(io, &event) && (event.result == 0 || event.result == -ENOBUFS) && !event.more;
    close(pair[0]);
    return works;
}

static int try_out(struct uring_io *io, const char **why) {
    uring_buffers_fill(&io->buffers, &io->ring);
    if (io->buffers.free_count == io->buffers.count) {
        *why = "--max-memory leaves no receive buffer; expected a larger --max-memory";
        return -ENOMEM;
    }
    if (!multishot_works(&io->io)) {
        *why = "the kernel's io_uring lacks multishot receive";
        return -EOPNOTSUPP;
    }
    return 0;
}

static int open_rings(struct uring_io *io, const struct io_options *options, const char **why) {
    int result = ring_open(&io->ring, options->restricted, why);
    if (result < 0)
        return result;
    result = uring_buffers_open(&io->buffers, &io->ring.uring, options->pool, options->buffers_provided, why);
    if (result < 0)
        ring_close(&io->ring);
    return result;
}

static void uring_close(struct io *base) {
    struct uring_io *io = uring_of(base);
    assert(io->magic == IO_MAGIC);
    ring_submit(&io->ring);
    uring_buffers_close(&io->buffers, &io->ring.uring);
    ring_close(&io->ring);
    signals_unroute(&io->signals);
    io->magic = 0;
    memory_give(io);
}

// Makes the thread's timers precise, for held waits. Otherwise a timer may be 50 µs late.
static void be_on_time(void) {
    (void)prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
}

static int uring_open(struct io **out, const struct io_options *options, const char **why) {
    struct uring_io *io = memory_take_zeroed(1, sizeof *io);
    if (!io) {
        *why = "out of memory";
        return -ENOMEM;
    }
    io->io.ops = &uring_ops;
    io->magic = IO_MAGIC;
    io->spin.max_ns = options->spin_ns;
    coalesce_init(&io->coalesce, options->spin_ns ? 0 : options->hold_ns);
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
    if (io->coalesce.hold_ns)
        be_on_time();
    io->io.now_ns = io_clock_ns();
    *out = &io->io;
    return 0;
}

const struct io_ops uring_ops = {
    .name = "uring",
    .open = uring_open,
    .close = uring_close,
    .provide_buffers = uring_provide_buffers,
    .accept = uring_accept,
    .connect = uring_connect,
    .receive = uring_receive,
    .receive_into = uring_receive_into,
    .send = uring_send,
    .cancel = uring_cancel,
    .watch = uring_watch,
    .unwatch = uring_unwatch,
    .shutdown = uring_shutdown,
    .close_socket = uring_close_socket,
    .file_write = uring_file_write,
    .file_sync = uring_file_sync,
    .signals = uring_signals,
    .wake = uring_wake,
    .run = uring_run,
    .next = uring_next,
    .has_arrivals = uring_has_arrivals,
    .poll = uring_poll,
    .entries = uring_entries,
    .held = uring_held_waits,
    .restricted = uring_is_restricted,
};

// --- A turn

// A turn of an io_uring io: submits noted operations in one kernel entry, and turns completions into events straight
// from the completion ring.
//
// Success: there is an event, a wake, or the deadline has passed. Failure: completions for which the ring has no room
// stay with the kernel until the next io_run.

static enum kind kind_of_completion(const struct io_uring_cqe *cqe) {
    return (enum kind)(cqe->user_data >> TOKEN_BITS);
}
void uring_watch_signals(struct uring_io *io) {
    struct io_uring_sqe *sqe = ring_note(&io->ring);
    io_uring_prep_poll_multishot(sqe, io->signals.descriptor, POLLIN);
    sqe->user_data = uring_data(KIND_SIGNAL, 0);
}

static bool next_signal(struct uring_io *io, struct io_event *event) {
    io->ring.entries++;
    return signals_next(&io->signals, event);
}

// Removes completions without an event from the front. Returns whether one with an event follows.
static bool skip_silent(struct uring_io *io) {
    unsigned tail = ring_tail(&io->ring);
    for (;;) {
        const struct io_uring_cqe *cqe = ring_front(&io->ring, tail);
        if (!cqe)
            return false;
        enum kind kind = kind_of_completion(cqe);
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

// Enters the kernel without waiting, and again whenever the ring has news. Returns false when the time has passed
// without a reason to return.
static bool spin(struct uring_io *io, uint64_t until_ns) {
    for (;;) {
        ring_enter(&io->ring, 0, 0);
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

// Waits for completions. Only the first wait may be held.
static void wait_for_completions(struct uring_io *io, uint64_t deadline_ns) {
    bool ready = skip_silent(io), first = true;
    do {
        uint64_t wait_ns = ready || io->woken ? 0 : wait_until(deadline_ns);
        uint64_t hold_ns = first ? coalesce_hold(&io->coalesce, wait_ns) : 0;
        uint64_t began_ns = hold_ns ? io_clock_ns() : 0;
        io->held += hold_ns != 0;
        first = false;
        ring_enter(&io->ring, wait_ns, hold_ns);
        io->io.now_ns = io_clock_ns();
        ready = skip_silent(io);
        if (hold_ns && (ready || io->woken))
            coalesce_waited(&io->coalesce, io->io.now_ns - began_ns);
    } while (!ready && !io->woken && io->io.now_ns < deadline_ns);
}

// Marks the completions that are handed out in this turn. A verb that finds the queue full submits early, and
// completions of such operations must wait for the next turn. So a handler that makes new events endlessly can't keep
// the loop from running.
static void gather(struct uring_io *io) {
    io->gathered = ring_tail(&io->ring);
    io->entered = io->ring.entries;
}

void uring_run(struct io *base, uint64_t deadline_ns) {
    struct uring_io *io = uring_of(base);
    assert(io->magic == IO_MAGIC);
    uring_buffers_fill(&io->buffers, &io->ring);
    uint64_t began_ns = io->spin.max_ns ? io_clock_ns() : 0;
    bool spins = spin_pays(&io->spin) && deadline_ns > began_ns;
    if (!spins || !spin(io, spin_end(&io->spin, began_ns, deadline_ns)))
        wait_for_completions(io, deadline_ns);
    if (io->spin.max_ns)
        spin_learn(&io->spin, base->now_ns - began_ns);
    io->woken = false;
    gather(io);
    if (coalesce_woke(&io->coalesce, base->now_ns))
        coalesce_evaluate(&io->coalesce, base->now_ns, io_used_ns());
}

// Returns whether io_poll pays. A turn that uses more than half of the buffers touches more memory than the cache has.
bool uring_has_arrivals(const struct io *base) {
    const struct uring_io *io = (const struct uring_io *)base;
    bool pays = io->ring.entries == io->entered && uring_buffers_left(&io->buffers) > io->buffers.max / 2;
    return pays && ring_stirs(&io->ring);
}

void uring_poll(struct io *base) {
    struct uring_io *io = uring_of(base);
    ring_look(&io->ring);
    gather(io);
}

static void fill_received(struct uring_io *io, const struct io_uring_cqe *cqe, struct io_event *event) {
    event->kind = IO_RECEIVED;
    coalesce_came(&io->coalesce, cqe->res > 0 ? (uint64_t)cqe->res : 0);
    if (!(cqe->flags & IORING_CQE_F_BUFFER))
        return;
    struct buffer *buffer = uring_buffers_return(&io->buffers, cqe->flags >> IORING_CQE_BUFFER_SHIFT);
    if (cqe->res > 0)
        event->buffer = buffer;
    else
        buffer_drop(buffer);
}

// Fills in the event of a completion. Returns false if the completion has no event.
static bool fill_event(struct uring_io *io, const struct io_uring_cqe *cqe, struct io_event *event) {
    *event = (struct io_event){
        .more = cqe->flags & IORING_CQE_F_MORE,
        .result = cqe->res,
        .token = cqe->user_data & ((UINT64_C(1) << TOKEN_BITS) - 1),
    };
    switch (kind_of_completion(cqe)) {
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
    case KIND_GONE:
        return uring_gone(cqe, event);
    case KIND_CONNECT:
        event->kind = IO_CONNECTED;
        return true;
    case KIND_SIGNAL:
        io->signals.ready = true;
        if (!event->more)
            uring_watch_signals(io);
        return false;
    case KIND_WAKE:
    case KIND_SILENT:
        return false;
    }
    assert(false);
    return false;
}

bool uring_next(struct io *base, struct io_event *event) {
    struct uring_io *io = uring_of(base);
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

// --- Watches

// Watches for the end of a peer that has half-closed. The poll reports changes only, since the socket is readable all
// the time: the peer's end can be read.

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

// Fills in the event of a watch. Returns whether there is one: the kernel reports the half-close itself, too.
bool uring_gone(const struct io_uring_cqe *cqe, struct io_event *event) {
    event->kind = IO_GONE;
    if (cqe->res < 0)
        return true;
    event->result = cqe->res & GONE ? 0 : -EAGAIN;
    return event->result == 0 || !event->more;
}
