// A turn of an epoll io: noted operations are carried out, epoll is asked once, and the events are handed
// out.
//
// Success: ready sockets are read one arrival at a time as the caller asks for events, so that a buffer is
// used again while it is in the cache. A turn reads as often as buffers are lent, in turns from each socket;
// the rest is first in the next turn. A turn that has enough to do already (sends that have gone) passes
// epoll over if the turn before looked.
//
// Failure: epoll_wait fails only in passing. Any other failure is a bug of ours and ends the program.
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/epoll.h"
#include "io/log.h"

// After these a read that brings less than was asked for doesn't mean that nothing is left.
enum { DOUBTS = EPOLLRDHUP | EPOLLPRI | EPOLLHUP | EPOLLERR };

// --- What epoll tells

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
    bool has_news = slot->send.state == STATE_WAITING && events & (EPOLLOUT | EPOLLHUP | EPOLLERR);
    if (has_news && slot->send.kind == OPERATION_CONNECT)
        operation_end(io, &slot->send, socket_connected(slot->socket));
    else if (has_news)
        epoll_go_on_sending(io, &slot->send);
    else if (events == EPOLLOUT) // a Unix socket tells of room whenever its peer reads
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

// Asks epoll once; whether it told of anything.
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

// Makes the operation's event, and lets go of it unless it goes on.
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
    // No listening socket and no file is closed through this io.
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

// The one that came home last if there is one, since it is in the cache.
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

// Tries what is ready; false when there was nothing after all.
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

// Returns whether there is an event. Operations that end from now on wait for the next turn: a handler that
// keeps making events can't keep the loop from running.
static bool gather_events(struct epoll_io *io) {
    for (struct list *link; (link = list_take(&io->ended));)
        list_append(&io->due, link);
    if (list_empty(&io->due) && !io->signals.ready)
        io->early_there = next_arrival(io, &io->early);
    return !list_empty(&io->due) || io->signals.ready || io->early_there;
}

// Looks at epoll until something is there: for a while without falling asleep, if that pays.
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
    // Sends that have gone are enough for a turn; the next one has to look again.
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
