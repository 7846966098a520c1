// The state of an epoll io, shared by the parts of epoll.c: verbs, submission, and turns.
#pragma once

#include <sys/epoll.h>

#include "io/backend.h"
#include "io/epoll_socket.h"
#include "io/process.h"
#include "io/spin.h"

enum { EPOLL_MAGIC = 0x696f6570, EVENTS_MAX = 512 };

// The data that epoll returns: a slot's index, or one of these.
enum { DATA_DOORBELL = 0, DATA_SIGNALS = UINT32_MAX };

enum { ARRIVALS = EPOLLIN | EPOLLRDHUP | EPOLLPRI };

struct epoll_io {
    struct io io;
    uint32_t magic;
    int epoll;
    int doorbell; // an eventfd that is never read: each write is an edge
    bool woken;
    bool passed_over; // the last turn had enough work and didn't ask epoll
    bool early_there;
    struct io_event early; // the arrival that io_run has read to find out whether there is one
    struct buffer_pool *pool;
    struct buffer **reserve; // for arrivals at the memory bound; reads_max entries
    uint32_t reserve_count;
    uint32_t reads_max;  // bound of the reads in a turn
    uint32_t opened_for; // upper bound of reads_max
    uint32_t reads_left; // reads that remain in this turn
    uint64_t entries;
    struct spin spin;
    struct signals signals;
    struct list noted, ready, ended; // struct operation.link
    struct list due;                 // operations that had ended when io_run returned
    struct socket_table sockets;
    struct worker worker;
    struct epoll_event events[EVENTS_MAX];
};

static inline struct epoll_io *epoll_of(struct io *io) {
    return (struct epoll_io *)io;
}

// Moves an operation from any list into this list.
static inline void operation_move(struct operation *operation, struct list *list,
                                  enum operation_state state) {
    list_remove(&operation->link);
    list_append(list, &operation->link);
    operation->state = state;
}

// Ends an operation. The operation's event comes in the next turn.
static inline void operation_end(struct epoll_io *io, struct operation *operation, int32_t result) {
    operation->result = result;
    operation_move(operation, &io->ended, STATE_ENDED);
}

// Carries out all noted operations.
void epoll_submit_out(struct epoll_io *io);
// Sends as much as the socket takes. The rest waits until epoll reports room.
void epoll_go_on_sending(struct epoll_io *io, struct operation *operation);
// Ends a watch if the peer has gone; else the watch waits until epoll reports a change.
void epoll_look_whether_gone(struct epoll_io *io, struct operation *operation);
// Stops watching a socket for room to send.
void epoll_unwatch_room(struct epoll_io *io, struct socket_slot *slot);
// Removes a descriptor from epoll and frees its slot, before the number is reused.
void epoll_forget(struct epoll_io *io, struct socket_slot *slot);

// Fills the reserve as far as the pool has buffers.
void epoll_fill_reserve(struct epoll_io *io);

// The verbs io_run and io_next.
void epoll_run(struct io *io, uint64_t deadline_ns);
bool epoll_next(struct io *io, struct io_event *event);
