#include "io/epoll.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "io/log.h"

// Implements the seam of io/io.h over epoll, for kernels and containers that refuse io_uring.
//
// Success: a verb fills the descriptor's operation and puts the operation into a list. io_run carries out the list,
// waits, and hands out events.
//
// Failure: a failed operation has its error in the event's result. Closing a socket and waking another io take effect
// at once.

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

// Makes the socket non-blocking and notes the connect. Reads and sends pass MSG_DONTWAIT; connect(2) has no such flag.
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
    *why = "--max-memory leaves no receive buffer; expected a larger --max-memory";
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

static void epoll_provide_buffers(struct io *base, uint32_t buffers) {
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
    io->reads_max = io->opened_for = options->buffers_provided;
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
    .provide_buffers = epoll_provide_buffers,
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

// --- Submission

// Carries out the noted operations. A send writes at once as much as the socket takes. A receive waits for epoll,
// unless something may be readable already. The worker does file operations.
//
// Success: a socket is watched edge-triggered, with one call for its whole life. Room to send is watched from the first
// send that finds no room, until epoll reports room while no send waits. Failure: if a socket can't be watched, its
// operation ends with that error.

// --- What epoll watches

static int control(struct epoll_io *io, int action, struct socket_slot *slot, uint32_t events) {
    struct epoll_event event = {.events = events, .data.u32 = socket_slot_index(&io->sockets, slot)};
    io->entries++;
    if (epoll_ctl(io->epoll, action, slot->socket, &event) < 0)
        return -errno;
    slot->watched = events;
    return 0;
}

static int watch(struct epoll_io *io, struct socket_slot *slot, uint32_t events) {
    events |= slot->watched | EPOLLET;
    if (events == slot->watched)
        return 0;
    return control(io, slot->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, slot, events);
}

// Removes a descriptor from epoll before its number is reused. Closing alone would not do while another process has a
// copy.
void epoll_forget(struct epoll_io *io, struct socket_slot *slot) {
    if (slot->watched)
        control(io, EPOLL_CTL_DEL, slot, 0);
    socket_slot_release(&io->sockets, slot);
}

void epoll_unwatch_room(struct epoll_io *io, struct socket_slot *slot) {
    control(io, EPOLL_CTL_MOD, slot, slot->watched & ~(uint32_t)EPOLLOUT);
}

// --- Carrying out noted operations

void epoll_go_on_sending(struct epoll_io *io, struct operation *operation) {
    int result = socket_send(operation, &io->entries);
    if (result == -EAGAIN) {
        struct socket_slot *slot = socket_slot_of(&io->sockets, operation->socket);
        list_remove(&operation->link);
        operation->state = STATE_WAITING;
        result = watch(io, slot, EPOLLOUT);
        if (result == 0)
            return;
    }
    // After a part was sent, sending the rest tells the error.
    operation_end(io, operation, operation->sent ? (int32_t)operation->sent : result);
}

static void begin_connecting(struct epoll_io *io, struct operation *operation) {
    int result = socket_connect(operation);
    if (result == -EAGAIN) {
        operation->state = STATE_WAITING;
        result = watch(io, socket_slot_of(&io->sockets, operation->socket), EPOLLOUT);
        if (result == 0)
            return;
    }
    operation_end(io, operation, result);
}

// Makes a listening socket non-blocking: accept must fail instead of waiting if there is no connection left.
static int make_nonblocking(int socket) {
    int flags = fcntl(socket, F_GETFL);
    return flags < 0 || fcntl(socket, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static int watch_arrivals(struct epoll_io *io, struct socket_slot *slot) {
    if (slot->watched & EPOLLIN)
        return 0;
    int result = slot->receive.kind == OPERATION_ACCEPT ? make_nonblocking(slot->socket) : 0;
    return result < 0 ? result : watch(io, slot, ARRIVALS);
}

// Checks whether the peer has gone. epoll may have reported the change before the watch began, and reports other
// changes in the same way.
void epoll_look_whether_gone(struct epoll_io *io, struct operation *operation) {
    operation->state = STATE_WAITING;
    io->entries++;
    if (io_is_peer_gone(&io->io, operation->socket))
        operation_end(io, operation, 0);
}

static void begin_receiving(struct epoll_io *io, struct operation *operation) {
    struct socket_slot *slot = socket_slot_of(&io->sockets, operation->socket);
    int result = operation->cancelled ? -ECANCELED : watch_arrivals(io, slot);
    if (result < 0)
        operation_end(io, operation, result);
    else if (operation->kind == OPERATION_WATCH)
        epoll_look_whether_gone(io, operation);
    else if (slot->readable)
        operation_move(operation, &io->ready, STATE_READY);
    else
        operation->state = STATE_WAITING;
}

void epoll_submit_out(struct epoll_io *io) {
    for (struct list *link; (link = list_take(&io->noted));) {
        struct operation *operation = list_entry(link, struct operation, link);
        switch (operation->kind) {
        case OPERATION_SEND:
            epoll_go_on_sending(io, operation);
            break;
        case OPERATION_CONNECT:
            begin_connecting(io, operation);
            break;
        case OPERATION_WRITE:
        case OPERATION_SYNC:
            operation->state = STATE_WAITING;
            worker_give(&io->worker, operation);
            break;
        default:
            begin_receiving(io, operation);
            break;
        }
    }
}

// --- A turn

// A turn of an epoll io: carries out noted operations, asks epoll once, and hands out events.
//
// Success: ready sockets are read one arrival at a time, as the caller asks for events. So a buffer is used again while
// it is in the cache. A turn reads at most as many times as buffers are lent, from each socket in turn; other ready
// sockets come first in the next turn. A turn that has enough to do already (finished sends) skips epoll if the turn
// before asked epoll.
//
// Failure: epoll_wait fails only with EINTR. Any other failure is a bug of the hub and ends the program.

// After these events a read that brings fewer bytes than asked for may leave bytes behind.
enum { DOUBTS = EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR };

// --- Events from epoll

static void collect_files(struct epoll_io *io) {
    struct list finished;
    list_init(&finished);
    worker_collect(&io->worker, &finished);
    for (struct list *link; (link = list_take(&finished));) {
        struct operation *operation = list_entry(link, struct operation, link);
        operation_end(io, operation, operation->result);
    }
}

static void handle_events(struct epoll_io *io, struct socket_slot *slot, uint32_t events) {
    if (events & (ARRIVALS | DOUBTS)) {
        slot->readable = true;
        slot->doubtful |= (events & DOUBTS) != 0;
        if (slot->receive.state == STATE_WAITING && slot->receive.kind == OPERATION_WATCH)
            epoll_look_whether_gone(io, &slot->receive);
        else if (slot->receive.state == STATE_WAITING)
            operation_move(&slot->receive, &io->ready, STATE_READY);
    }
    bool is_ready_to_send = slot->send.state == STATE_WAITING && events & (EPOLLOUT | EPOLLHUP | EPOLLERR);
    if (is_ready_to_send && slot->send.kind == OPERATION_CONNECT)
        operation_end(io, &slot->send, socket_connected(slot->socket));
    else if (is_ready_to_send)
        epoll_go_on_sending(io, &slot->send);
    else if (events == EPOLLOUT) // epoll reports room on a Unix socket whenever the peer reads
        epoll_unwatch_room(io, slot);
}

static int milliseconds_until(uint64_t deadline_ns) {
    if (deadline_ns == 0)
        return 0;
    if (deadline_ns == UINT64_MAX)
        return -1;
    uint64_t now_ns = io_clock_ns();
    if (deadline_ns <= now_ns)
        return 0;
    uint64_t milliseconds = (deadline_ns - now_ns + 999999) / 1000000;
    return milliseconds > INT_MAX ? INT_MAX : (int)milliseconds;
}

// Asks epoll once. Returns whether epoll reported events.
static bool look_for_events(struct epoll_io *io, uint64_t deadline_ns) {
    io->entries++;
    int count = epoll_wait(io->epoll, io->events, EVENTS_MAX, milliseconds_until(deadline_ns));
    if (count < 0 && errno != EINTR) {
        log_write(LOG_FAILED, LOG_NO_FIELDS, "epoll_wait: %s", strerror(errno));
        abort();
    }
    for (int i = 0; i < count; i++) {
        uint32_t data = io->events[i].data.u32;
        if (data == DATA_DOORBELL) {
            io->woken = true;
            collect_files(io);
        } else if (data == DATA_SIGNALS) {
            io->signals.ready = true;
        } else {
            handle_events(io, &io->sockets.slots[data], io->events[i].events);
        }
    }
    return count > 0;
}

// --- Events

// Makes the operation's event. Frees the operation unless it goes on.
static void report_result(struct epoll_io *io, struct operation *operation, int32_t result, bool more,
                          struct io_event *event) {
    static const enum io_event_kind kinds[] = {
        [OPERATION_ACCEPT] = IO_ACCEPTED,
        [OPERATION_RECEIVE] = IO_RECEIVED,
        [OPERATION_RECEIVE_ONCE] = IO_RECEIVED,
        [OPERATION_RECEIVE_INTO] = IO_RECEIVED,
        [OPERATION_WATCH] = IO_GONE,
        [OPERATION_SEND] = IO_SENT,
        [OPERATION_CONNECT] = IO_CONNECTED,
        [OPERATION_WRITE] = IO_WRITTEN,
        [OPERATION_SYNC] = IO_SYNCED,
    };
    enum operation_kind kind = operation->kind;
    *event =
        (struct io_event){.kind = kinds[kind], .more = more, .result = result, .token = operation->token};
    if (more)
        return;
    operation->state = STATE_NONE;
    // Listening sockets and files aren't closed through this io, so their slots are released here.
    if (kind == OPERATION_ACCEPT || kind == OPERATION_WRITE || kind == OPERATION_SYNC)
        epoll_forget(io, socket_slot_find(&io->sockets, operation->socket));
}

static int32_t accept_one(struct epoll_io *io, struct socket_slot *slot) {
    int socket = socket_accept(slot);
    if (socket < 0 || socket_table_has_room(&io->sockets, socket))
        return socket;
    close(socket);
    return -EMFILE;
}

void epoll_fill_reserve(struct epoll_io *io) {
    while (io->reserve_count < io->reads_max) {
        struct buffer *buffer = buffer_take(io->pool);
        if (!buffer)
            return;
        io->reserve[io->reserve_count++] = buffer;
    }
}

// Takes a buffer: from the pool the buffer that was given back last, which is in the cache; else from the reserve.
static struct buffer *take_buffer(struct epoll_io *io) {
    struct buffer *buffer = buffer_take(io->pool);
    if (!buffer && io->reserve_count)
        buffer = io->reserve[--io->reserve_count];
    return buffer;
}

static int32_t receive_one(struct epoll_io *io, struct socket_slot *slot, struct buffer **buffer) {
    if (slot->receive.kind == OPERATION_RECEIVE_INTO)
        return socket_read(slot, slot->receive.memory, slot->receive.bytes);
    *buffer = take_buffer(io);
    if (!*buffer)
        return -ENOBUFS;
    int32_t result = socket_read(slot, buffer_arrival(*buffer), slot->receive.bytes);
    if (result > 0)
        return result;
    buffer_drop(*buffer);
    *buffer = NULL;
    return result;
}

// Reads from a ready socket, or accepts. Returns false if there was nothing to read.
static bool try_arrival(struct epoll_io *io, struct operation *operation, struct io_event *event) {
    struct socket_slot *slot = socket_slot_find(&io->sockets, operation->socket);
    struct buffer *buffer = NULL;
    bool accepts = operation->kind == OPERATION_ACCEPT;
    operation->state = STATE_WAITING;
    io->entries++;
    int32_t result = accepts ? accept_one(io, slot) : receive_one(io, slot, &buffer);
    if (result == -EAGAIN)
        return false;
    bool more = accepts ? result >= 0 : result > 0 && operation->kind == OPERATION_RECEIVE;
    if (more && slot->readable)
        operation_move(operation, &io->ready, STATE_READY);
    report_result(io, operation, result, more, event);
    event->buffer = buffer;
    return true;
}

static bool next_arrival(struct epoll_io *io, struct io_event *event) {
    for (struct list *link; io->reads_left && (link = list_take(&io->ready));) {
        if (!try_arrival(io, list_entry(link, struct operation, link), event))
            continue;
        io->reads_left--;
        return true;
    }
    return false;
}

static bool next_end(struct epoll_io *io, struct io_event *event) {
    struct list *link = list_take(&io->due);
    if (!link)
        return false;
    struct operation *operation = list_entry(link, struct operation, link);
    report_result(io, operation, operation->result, false, event);
    return true;
}

bool epoll_next(struct io *base, struct io_event *event) {
    struct epoll_io *io = epoll_of(base);
    if (io->early_there) {
        *event = io->early;
        io->early_there = false;
        return true;
    }
    if (io->signals.ready) {
        io->entries++;
        if (signals_next(&io->signals, event))
            return true;
    }
    return next_end(io, event) || next_arrival(io, event);
}

// --- A turn

static bool has_work(const struct epoll_io *io) {
    return !list_empty(&io->ended) || !list_empty(&io->ready);
}

// Returns whether there is an event. Operations that end from now on wait for the next turn: a handler that makes new
// events endlessly can't keep the loop from running.
static bool gather_events(struct epoll_io *io) {
    for (struct list *link; (link = list_take(&io->ended));)
        list_append(&io->due, link);
    if (list_empty(&io->due) && !io->signals.ready)
        io->early_there = next_arrival(io, &io->early);
    return !list_empty(&io->due) || io->signals.ready || io->early_there;
}

// Asks epoll until there are events: at first without sleeping, if that pays.
static void wait_for_events(struct epoll_io *io, uint64_t deadline_ns) {
    uint64_t now_ns = io->spin.max_ns ? io_clock_ns() : 0;
    bool spins = spin_pays(&io->spin) && deadline_ns > now_ns;
    uint64_t end_ns = spins ? spin_end(&io->spin, now_ns, deadline_ns) : 0;
    for (uint64_t at_ns = now_ns; at_ns < end_ns; at_ns = io_clock_ns()) {
        if (look_for_events(io, 0))
            return;
        spin_pause();
    }
    look_for_events(io, deadline_ns);
}

void epoll_run(struct io *base, uint64_t deadline_ns) {
    struct epoll_io *io = epoll_of(base);
    assert(io->magic == EPOLL_MAGIC && list_empty(&io->due) && !io->early_there);
    epoll_fill_reserve(io);
    epoll_submit_out(io);
    uint64_t began_ns = io->spin.max_ns ? io_clock_ns() : 0;
    io->reads_left = io->reads_max;
    // Finished sends are enough work for a turn, but the next turn must ask epoll again.
    io->passed_over = has_work(io) && !io->passed_over;
    if (!io->passed_over)
        wait_for_events(io, has_work(io) ? 0 : deadline_ns);
    base->now_ns = io_clock_ns();
    while (!gather_events(io) && !io->woken && base->now_ns < deadline_ns) {
        wait_for_events(io, deadline_ns);
        base->now_ns = io_clock_ns();
    }
    if (io->spin.max_ns && !io->passed_over)
        spin_learn(&io->spin, base->now_ns - began_ns);
    io->woken = false;
}
