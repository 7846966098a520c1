// The state of each descriptor of an epoll io: the operations under way, and the events that epoll watches. Only
// io/epoll*.c may include this header.
//
// The table has room for every descriptor that the process may have. The table is made at once, as address space in
// which the kernel allocates a page at the first access. Memory therefore follows the number of connections, and no
// connection fails for want of a slot.
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
    OPERATION_RECEIVE_INTO, // into the caller's memory
    OPERATION_WATCH,        // until the peer has gone
    OPERATION_SEND,
    OPERATION_CONNECT, // uses the operation of sends
    OPERATION_WRITE,
    OPERATION_SYNC,
};

enum operation_state {
    STATE_NONE,    // no operation is under way
    STATE_NOTED,   // in epoll_io.noted, which the next turn carries out
    STATE_WAITING, // for the kernel; in no list (a write or sync: in the worker's)
    STATE_READY,   // in epoll_io.ready
    STATE_ENDED,   // in epoll_io.ended or .due
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
    const struct iovec *vectors;    // of OPERATION_SEND or OPERATION_WRITE
    unsigned count;
    size_t bytes; // of the memory, or of all vectors; or the most that an arrival may have
    size_t sent;
};

struct socket_slot {
    int socket;
    uint32_t watched;         // the events that epoll watches; 0: none
    bool readable;            // a read may find something
    bool doubtful;            // a read that brings fewer bytes than asked for may leave bytes behind
    struct operation receive; // receive, accept or watch
    struct operation send;    // send, connect, write or sync
};

struct socket_table {
    struct socket_slot *slots; // the first isn't used
    uint32_t *slot_of;         // index by descriptor; 0: none
    uint32_t *free;            // a stack of indices of free slots
    uint32_t free_count;
    uint32_t used;
    uint32_t capacity;
};

// Makes a table for the descriptors that the process may have now. Returns 0 or -ENOMEM.
int socket_table_open(struct socket_table *table);
void socket_table_close(struct socket_table *table);

// Returns whether the table has room for a descriptor with this number.
static inline bool socket_table_has_room(const struct socket_table *table, int socket) {
    return (uint32_t)socket < table->capacity;
}
// Returns the descriptor's slot. Makes the slot at the first call.
struct socket_slot *socket_slot_of(struct socket_table *table, int socket);
// Returns the descriptor's slot, or NULL.
struct socket_slot *socket_slot_find(struct socket_table *table, int socket);
// Frees the descriptor's slot. No operation may be under way.
void socket_slot_release(struct socket_table *table, struct socket_slot *slot);

static inline uint32_t socket_slot_index(const struct socket_table *table, const struct socket_slot *slot) {
    return (uint32_t)(slot - table->slots);
}

// Reads without waiting. Returns the bytes, 0 at the end, -EAGAIN or another -errno. Resets slot->readable if the
// socket is empty.
int32_t socket_read(struct socket_slot *slot, void *memory, size_t bytes);
// Accepts without waiting. Returns the socket, -EAGAIN or another -errno. Resets slot->readable if no connection waits.
int socket_accept(struct socket_slot *slot);
// Begins to connect. Returns 0, -EAGAIN if the result isn't known yet, or another -errno.
// (socket_connected) Returns the result once the socket is writable: 0 or -errno.
int socket_connect(const struct operation *operation);
int socket_connected(int socket);
// Sends as much of the operation's vectors as possible without waiting. Returns 0 if all bytes are sent, -EAGAIN if the
// socket is full, or another -errno. operation->sent is the number of bytes sent. `entries` counts system calls.
int socket_send(struct operation *operation, uint64_t *entries);

// --- A thread for files

// The thread that writes and syncs an epoll io's files, because the disk makes its callers wait. Only for io/epoll*.c.

struct worker {
    pthread_mutex_t lock;
    pthread_cond_t assigned;
    // Guarded by the lock:
    struct list jobs;     // struct operation.link
    struct list finished; // struct operation.link
    bool over;
    // Only the io's thread uses these:
    pthread_t thread;
    bool started;
    int doorbell; // an eventfd, written to when a job has finished
};

void worker_init(struct worker *worker, int doorbell);
// Ends the worker's thread. The caller must have collected every job.
void worker_deinit(struct worker *worker);

// Gives a write or sync to the worker. Without a thread, the caller does the job at once, however long that takes.
void worker_give(struct worker *worker, struct operation *operation);
// Moves finished jobs to `out`. operation->result is a job's result.
void worker_collect(struct worker *worker, struct list *out);
