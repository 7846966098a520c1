// The state of an io_uring io, shared by the parts of uring.c: verbs, turns and watches.
#pragma once

#include <assert.h>

#include "io/backend.h"
#include "io/coalesce.h"
#include "io/process.h"
#include "io/spin.h"
#include "io/uring_ring.h"

// The kind of operation that a completion belongs to: the top 8 bits of its user data. A receive and a send with the
// same token may be under way.
enum kind {
    KIND_ACCEPT = 1,
    KIND_RECEIVE,
    KIND_SEND,
    KIND_SIGNAL,
    KIND_WRITE,
    KIND_SYNC,
    KIND_GONE,
    KIND_CONNECT,
    KIND_WAKE,   // another shard's io_wake
    KIND_SILENT, // internal operations without an event
};

enum { TOKEN_BITS = 56, IO_MAGIC = 0x696f7572 };

struct uring_io {
    struct io io;
    uint32_t magic;
    unsigned gathered; // the tail of the completion ring at the last io_run or io_poll
    uint64_t entered;  // ring.entries at that time
    bool woken;
    struct spin spin;
    struct coalesce coalesce;
    uint64_t held; // number of held waits
    struct signals signals;
    struct ring ring;
    struct uring_buffers buffers;
};

static inline struct uring_io *uring_of(struct io *io) {
    return (struct uring_io *)io;
}

static inline uint64_t uring_data(enum kind kind, uint64_t token) {
    assert(token >> TOKEN_BITS == 0);
    return (uint64_t)kind << TOKEN_BITS | token;
}

// Notes an operation. The caller fills in the operation's other fields.
static inline struct io_uring_sqe *uring_note(struct uring_io *io, int operation, int socket, uint64_t data) {
    struct io_uring_sqe *sqe = ring_note(&io->ring);
    io_uring_prep_rw(operation, sqe, socket, NULL, 0, 0);
    sqe->user_data = data;
    return sqe;
}

// Notes an internal operation, which has a completion only if it fails.
static inline struct io_uring_sqe *uring_note_silent(struct uring_io *io, int operation, int socket) {
    struct io_uring_sqe *sqe = uring_note(io, operation, socket, uring_data(KIND_SILENT, 0));
    sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
    return sqe;
}

// Polls the signal descriptor. The poll may end after any report.
void uring_watch_signals(struct uring_io *io);

// The verbs io_run, io_next, io_has_arrivals and io_poll.
void uring_run(struct io *io, uint64_t deadline_ns);
bool uring_next(struct io *io, struct io_event *event);
bool uring_has_arrivals(const struct io *io);
void uring_poll(struct io *io);
// The verbs io_watch and io_unwatch.
void uring_watch(struct io *io, int socket, uint64_t token);
void uring_unwatch(struct io *io, int socket, uint64_t token);
// Fills in the event of a completion of uring_watch. Returns whether there is an event.
bool uring_gone(const struct io_uring_cqe *cqe, struct io_event *event);
