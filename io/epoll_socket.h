// The state of each descriptor of an epoll io: the operations under way on it, and the events that the kernel
// was asked for. Known to io/epoll*.c only.
//
// The table has room for every descriptor that the process may have. It is made at once, as address space
// that the kernel fills when it is touched. Memory follows the number of connections, and nothing on the way
// of a connection can fail for want of it.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "core/base/list.h"

enum operation_kind {
    OPERATION_ACCEPT,
    OPERATION_RECEIVE, // into one buffer after the other
    OPERATION_RECEIVE_ONCE,
    OPERATION_RECEIVE_INTO, // the caller's memory
    OPERATION_WATCH,        // for the peer to go
    OPERATION_SEND,
    OPERATION_CONNECT, // stands where a send would
    OPERATION_WRITE,
    OPERATION_SYNC,
};

enum operation_state {
    STATE_NONE,    // no operation is under way
    STATE_NOTED,   // in the list of what the next turn begins with
    STATE_WAITING, // for the kernel; in no list (a write or sync: in the worker's)
    STATE_READY,   // in the list of what can be read
    STATE_ENDED,   // in a list of ends that the caller has yet to take
};

struct operation {
    struct list link;
    uint64_t token;
    enum operation_kind kind;
    enum operation_state state;
    int socket;
    int32_t result;
    bool cancelled;
    void *memory;                   // of OPERATION_RECEIVE_INTO
    const struct sockaddr *address; // of OPERATION_CONNECT
    const struct iovec *vectors;    // of a send or write
    unsigned count;
    size_t bytes; // of the memory, or of all vectors; of an arrival at most
    size_t sent;
};

struct socket_slot {
    int socket;
    uint32_t watched;         // the events that epoll tells of; 0: none
    bool readable;            // a read may find something
    bool doubtful;            // a read that brings less than was asked for doesn't mean that nothing is left
    struct operation receive; // or accept
    struct operation send;    // or write, or sync
};

struct socket_table {
    struct socket_slot *slots; // the first is nobody's
    uint32_t *slot_of;         // by descriptor; 0: none
    uint32_t *free;            // a stack of slots that were used before
    uint32_t free_count;
    uint32_t used;
    uint32_t capacity;
};

// Makes room for the descriptors that the process may have now. 0 or -ENOMEM.
int socket_table_open(struct socket_table *table);
void socket_table_close(struct socket_table *table);

// Whether the table has room for a descriptor with this number.
static inline bool socket_table_has_room(const struct socket_table *table, int socket) {
    return (uint32_t)socket < table->capacity;
}
// Returns the slot of the descriptor; a fresh slot the first time.
struct socket_slot *socket_slot_of(struct socket_table *table, int socket);
// Returns the slot of the descriptor; NULL: there is none.
struct socket_slot *socket_slot_find(struct socket_table *table, int socket);
// Forgets the descriptor. Nothing may be under way on it.
void socket_slot_release(struct socket_table *table, struct socket_slot *slot);

static inline uint32_t socket_slot_index(const struct socket_table *table, const struct socket_slot *slot) {
    return (uint32_t)(slot - table->slots);
}

// Reads into memory without waiting: bytes, 0 at the end, -EAGAIN or another -errno. Keeps slot->readable.
int32_t socket_read(struct socket_slot *slot, void *memory, size_t bytes);
// Accepts without waiting: the socket, -EAGAIN or another -errno. Likewise.
int socket_accept(struct socket_slot *slot);
// Begins to connect: 0, -EAGAIN when the result isn't known yet, or another -errno. The second function
// returns the result likewise.
int socket_connect(const struct operation *operation);
int socket_connected(int socket);
// Sends as much of the operation's vectors as goes without waiting. 0 when all has gone, -EAGAIN when the
// socket is full, or another -errno. operation->sent says how much has gone. `entries` counts system calls.
int socket_send(struct operation *operation, uint64_t *entries);

// --- Threads for files and names

// The thread that writes and syncs an epoll io's files, since the disk makes its callers wait. Known to
// io/epoll*.c only.

struct worker {
    pthread_mutex_t lock;
    pthread_cond_t assigned;
    // Under the lock:
    struct list jobs;     // struct operation.link
    struct list finished; // likewise
    bool over;
    // The io's own:
    pthread_t thread;
    bool started;
    int doorbell; // an eventfd, rung when something has finished
};

void worker_init(struct worker *worker, int doorbell);
// Every job must have been collected.
void worker_deinit(struct worker *worker);

// Gives a write or sync away until it is collected. Where no thread can be started it is done at once,
// however long it takes.
void worker_give(struct worker *worker, struct operation *operation);
// Moves what has finished to `out`; operation->result says how.
void worker_collect(struct worker *worker, struct list *out);
