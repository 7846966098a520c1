// Carries out the operations that were noted. Sends go at once as far as the socket takes them, receives wait
// for epoll unless something is there already, files are the worker's.
//
// Success: a socket is watched edge-triggered with one call in its life. It is watched for room to send only
// from a send that found none, until room is told of that no send waits for. Failure: an operation whose
// socket can't be watched ends with that error.
#include <errno.h>
#include <fcntl.h>

#include "io/epoll.h"

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

// Before the descriptor's number means something else. Closing alone would not do while another process holds
// a copy.
void epoll_forget(struct epoll_io *io, struct socket_slot *slot) {
    if (slot->watched)
        control(io, EPOLL_CTL_DEL, slot, 0);
    socket_slot_release(&io->sockets, slot);
}

void epoll_unwatch_room(struct epoll_io *io, struct socket_slot *slot) {
    control(io, EPOLL_CTL_MOD, slot, slot->watched & ~(uint32_t)EPOLLOUT);
}

// --- Carrying out what was noted

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
    // After a part has gone, sending the rest tells what is wrong.
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

// A listening socket that has nobody left to accept must say so instead of waiting.
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

// The change may have been told of before anybody waited for it, and others are told of likewise: so this
// looks.
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
