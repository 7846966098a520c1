// The seam of io/io.h over epoll, for kernels and containers that refuse io_uring.
//
// Success: each verb fills the descriptor's operation and puts it into a list; io_run carries the list
// out (epoll_submit.c), waits, and hands out events (epoll_turn.c).
//
// Failure: an operation's failure is its event's result. Sockets are closed, others woken at once.
#include "io/epoll.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/memory.h"

// --- Verbs

static struct operation *note_operation(struct epoll_io *io, struct operation *operation,
                                        enum operation_kind kind, uint64_t token) {
    assert(operation->state == STATE_NONE && token >> 56 == 0);
    operation->kind = kind;
    operation->token = token;
    operation->cancelled = false;
    operation->sent = 0;
    operation_move(operation, &io->noted, STATE_NOTED);
    return operation;
}

static struct operation *note_receive(struct io *io, int socket, enum operation_kind kind, uint64_t token) {
    return note_operation(epoll_of(io), &socket_slot_of(&epoll_of(io)->sockets, socket)->receive, kind,
                          token);
}

static void epoll_accept(struct io *io, int socket, uint64_t token) {
    note_receive(io, socket, OPERATION_ACCEPT, token);
}

// Reads and sends don't wait whatever the socket is; this would.
static int epoll_connect(struct io *io, int socket, const struct sockaddr *address, uint32_t bytes,
                         uint64_t token) {
    struct socket_table *sockets = &epoll_of(io)->sockets;
    int flags = fcntl(socket, F_GETFL);
    if (flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0)
        return -errno;
    if (!socket_table_has_room(sockets, socket))
        return -EMFILE;
    struct operation *operation = &socket_slot_of(sockets, socket)->send;
    note_operation(epoll_of(io), operation, OPERATION_CONNECT, token);
    operation->address = address;
    operation->bytes = bytes;
    return 0;
}

static void epoll_receive(struct io *io, int socket, uint64_t token, uint32_t most) {
    enum operation_kind kind = most ? OPERATION_RECEIVE_ONCE : OPERATION_RECEIVE;
    note_receive(io, socket, kind, token)->bytes = most ? most : ARRIVAL_BYTES_MAX;
}

static void epoll_receive_into(struct io *io, int socket, uint64_t token, void *memory, size_t bytes) {
    struct operation *operation = note_receive(io, socket, OPERATION_RECEIVE_INTO, token);
    operation->memory = memory;
    operation->bytes = bytes;
}

static void epoll_watch(struct io *io, int socket, uint64_t token) {
    note_receive(io, socket, OPERATION_WATCH, token);
}

static struct operation *note_vectors(struct io *io, int descriptor, enum operation_kind kind, uint64_t token,
                                      const struct iovec *vectors, unsigned count) {
    struct operation *operation =
        note_operation(epoll_of(io), &socket_slot_of(&epoll_of(io)->sockets, descriptor)->send, kind, token);
    operation->vectors = vectors;
    operation->count = count;
    operation->bytes = 0;
    for (unsigned i = 0; i < count; i++)
        operation->bytes += vectors[i].iov_len;
    return operation;
}

static void epoll_send(struct io *io, int socket, uint64_t token, const struct iovec *vectors,
                       unsigned count) {
    note_vectors(io, socket, OPERATION_SEND, token, vectors, count);
}

static void epoll_file_write(struct io *io, const struct io_file *file, uint64_t token,
                             const struct iovec *vectors, unsigned count) {
    note_vectors(io, file->number, OPERATION_WRITE, token, vectors, count);
}

static void epoll_file_sync(struct io *io, const struct io_file *file, uint64_t token) {
    note_vectors(io, file->number, OPERATION_SYNC, token, NULL, 0);
}

static void epoll_cancel(struct io *io, int socket, uint64_t token) {
    struct socket_slot *slot = socket_slot_find(&epoll_of(io)->sockets, socket);
    struct operation *operation = slot ? &slot->receive : NULL;
    if (!operation || operation->token != token || operation->state == STATE_NONE ||
        operation->state == STATE_ENDED)
        return;
    operation->cancelled = true;
    operation_move(operation, &epoll_of(io)->noted, STATE_NOTED);
}

static void epoll_close_socket(struct io *io, int socket) {
    struct socket_slot *slot = socket_slot_find(&epoll_of(io)->sockets, socket);
    if (slot)
        epoll_forget(epoll_of(io), slot);
    epoll_of(io)->entries++;
    close(socket);
}

static int epoll_signals(struct io *io, uint64_t token) {
    struct signals *signals = &epoll_of(io)->signals;
    int result = signals_route(signals, token);
    if (result < 0)
        return result;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = DATA_SIGNALS};
    if (epoll_ctl(epoll_of(io)->epoll, EPOLL_CTL_ADD, signals->descriptor, &event) == 0)
        return 0;
    result = -errno;
    signals_unroute(signals);
    return result;
}

static void epoll_wake(struct io *io, struct io *other) {
    epoll_of(io)->entries++;
    eventfd_write(epoll_of(other)->doorbell, 1);
}

static void epoll_shutdown(struct io *io, int socket, int how) {
    epoll_submit_out(epoll_of(io));
    epoll_of(io)->entries++;
    shutdown(socket, how);
}

// --- Opening and closing

static int open_descriptors(struct epoll_io *io, const char **why) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u32 = DATA_DOORBELL};
    *why = "epoll was refused";
    io->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (io->epoll < 0)
        return -errno;
    io->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (io->doorbell < 0 || epoll_ctl(io->epoll, EPOLL_CTL_ADD, io->doorbell, &event) < 0)
        return -errno;
    return 0;
}

static int open_reserve(struct epoll_io *io, const char **why) {
    *why = "out of memory";
    io->reserve = memory_take_zeroed(io->reads_max, sizeof(struct buffer *));
    if (!io->reserve)
        return -ENOMEM;
    epoll_fill_reserve(io);
    *why = "the memory bound leaves no receive buffer";
    return io->reserve_count ? 0 : -ENOMEM;
}

static void release_what_it_has(struct epoll_io *io) {
    if (io->epoll >= 0)
        close(io->epoll);
    if (io->doorbell >= 0)
        close(io->doorbell);
    signals_unroute(&io->signals);
    socket_table_close(&io->sockets);
    while (io->reserve_count)
        buffer_drop(io->reserve[--io->reserve_count]);
    memory_give(io->reserve);
    io->magic = 0;
    memory_give(io);
}

static void epoll_close(struct io *base) {
    struct epoll_io *io = epoll_of(base);
    assert(io->magic == EPOLL_MAGIC && list_empty(&io->noted) && list_empty(&io->ended));
    worker_deinit(&io->worker);
    release_what_it_has(io);
}

static int open_parts(struct epoll_io *io, const char **why) {
    *why = "out of memory";
    int result = socket_table_open(&io->sockets);
    if (result == 0)
        result = open_descriptors(io, why);
    return result < 0 ? result : open_reserve(io, why);
}

static void epoll_lend_buffers(struct io *base, uint32_t buffers) {
    struct epoll_io *io = epoll_of(base);
    io->reads_max = buffers < io->opened_for ? buffers : io->opened_for;
    while (io->reserve_count > io->reads_max)
        buffer_drop(io->reserve[--io->reserve_count]);
}

static int epoll_open(struct io **out, const struct io_options *options, const char **why) {
    struct epoll_io *io = memory_take_zeroed(1, sizeof *io);
    if (!io) {
        *why = "out of memory";
        return -ENOMEM;
    }
    io->io.ops = &epoll_ops;
    io->magic = EPOLL_MAGIC;
    io->epoll = io->doorbell = -1;
    io->pool = options->pool;
    io->spin.max_ns = options->spin_ns;
    io->reads_max = io->opened_for = options->buffers_lent;
    signals_init(&io->signals);
    struct list *lists[] = {&io->noted, &io->ready, &io->ended, &io->due};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        list_init(lists[i]);
    int result = open_parts(io, why);
    if (result < 0) {
        release_what_it_has(io);
        return result;
    }
    worker_init(&io->worker, io->doorbell);
    io->io.now_ns = io_clock_ns();
    *out = &io->io;
    return 0;
}

static uint64_t epoll_entries(const struct io *io) {
    return ((const struct epoll_io *)io)->entries;
}

const struct io_ops epoll_ops = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .lend = epoll_lend_buffers,
    .accept = epoll_accept,
    .connect = epoll_connect,
    .receive = epoll_receive,
    .receive_into = epoll_receive_into,
    .send = epoll_send,
    .cancel = epoll_cancel,
    .watch = epoll_watch,
    .unwatch = epoll_cancel,
    .shutdown = epoll_shutdown,
    .close_socket = epoll_close_socket,
    .file_write = epoll_file_write,
    .file_sync = epoll_file_sync,
    .signals = epoll_signals,
    .wake = epoll_wake,
    .run = epoll_run,
    .next = epoll_next,
    .entries = epoll_entries,
};
