// The submission and completion rings of one shard: set-up, slots for noted operations, and the kernel entries. Only
// for io/uring*.c.
#pragma once

#include <assert.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/buffer.h"

// A feature of Linux 6.12 that liburing 2.3 doesn't name.
enum { RING_FEATURE_MIN_WAIT = 1 << 15 }; // IORING_FEAT_MIN_TIMEOUT
struct ring_wait_argument {               // struct io_uring_getevents_arg
    uint64_t signals;
    uint32_t signals_bytes;
    uint32_t min_wait_us;
    uint64_t timeout;
};
static_assert(sizeof(struct ring_wait_argument) == sizeof(struct io_uring_getevents_arg),
              "the kernel takes it by its size");

struct ring {
    struct io_uring uring;
    struct msghdr *messages; // one for each slot of the submission queue
    unsigned enter_flags;
    uint64_t entries; // kernel entries
    bool min_wait;    // the kernel can hold a wait itself
    bool restricted;  // the kernel refuses operations that the hub doesn't use
};

// Opens the calling thread's ring. Returns 0, or -errno with *why set to static text. With `restricted` the ring is
// restricted, if the kernel can.
int ring_open(struct ring *ring, bool restricted, const char **why);
void ring_close(struct ring *ring);

// Returns an empty submission, never NULL. A full queue is submitted first.
struct io_uring_sqe *ring_note(struct ring *ring);
// Returns a message header that stays valid until the kernel has read the submission.
static inline struct msghdr *ring_message(struct ring *ring, const struct io_uring_sqe *sqe) {
    return &ring->messages[sqe - ring->uring.sq.sqes];
}

// Submits all noted operations.
void ring_submit(struct ring *ring);
// Submits all noted operations and lets the kernel post completions. If there are none, waits for up to wait_ns (0: no
// wait; UINT64_MAX: no end). With hold_ns, which must not be longer, one completion ends the wait only after hold_ns,
// and many completions end it earlier. May return early without a completion.
void ring_enter(struct ring *ring, uint64_t wait_ns, uint64_t hold_ns);
// Lets the kernel post completions, without submitting.
void ring_look(struct ring *ring);

// Returns whether there are completions, or a kernel entry would post some. Makes no kernel entry.
static inline bool ring_stirs(const struct ring *ring) {
    return IO_URING_READ_ONCE(*ring->uring.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW) ||
           io_uring_smp_load_acquire(ring->uring.cq.ktail) != *ring->uring.cq.khead;
}

// Returns the oldest completion before `tail`, or NULL.
static inline const struct io_uring_cqe *ring_front(const struct ring *ring, unsigned tail) {
    const struct io_uring_cq *cq = &ring->uring.cq;
    unsigned head = *cq->khead;
    return head == tail ? NULL : &cq->cqes[head & cq->ring_mask];
}
static inline unsigned ring_tail(const struct ring *ring) {
    return io_uring_smp_load_acquire(ring->uring.cq.ktail);
}

// --- Provided buffers
//
// The receive buffers that a shard's ring has on loan. The kernel picks one when bytes arrive, so memory follows
// traffic and not the number of connections. Only for io/uring*.c.

enum { URING_BUFFERS_GROUP = 0 }; // the one buffer group of a ring

struct uring_buffers {
    struct buffer_pool *pool;
    struct io_uring_buf_ring *ring; // shared with the kernel
    struct buffer **provided;       // by buffer id; NULL: the id is free
    uint16_t *free_ids;             // the last one freed is used first
    uint32_t free_count;
    uint32_t count;
    uint32_t max;  // how many of `count` may be lent
    bool unlisted; // the ring isn't registered, because registering it again failed
};

// Registers a ring for `count` buffers (a power of two). None are lent yet. Returns 0, or -errno with *why set.
int uring_buffers_open(struct uring_buffers *buffers, struct io_uring *uring, struct buffer_pool *pool,
                       uint32_t count, const char **why);
// Unregisters the ring and takes all buffers back. No receive may be under way.
void uring_buffers_close(struct uring_buffers *buffers, struct io_uring *uring);

// Lends buffers up to `max`, as far as the pool has buffers.
void uring_buffers_fill(struct uring_buffers *buffers, struct ring *ring);
// Bounds the lent buffers. Buffers beyond the bound that the kernel hasn't used go back to the pool.
void uring_buffers_limit(struct uring_buffers *buffers, struct ring *ring, uint32_t max);
// Returns the buffer that the kernel has used, with the caller's reference, and frees its id.
struct buffer *uring_buffers_return(struct uring_buffers *buffers, uint32_t id);
// Returns the number of lent buffers, as far as completions have been read.
static inline uint32_t uring_buffers_left(const struct uring_buffers *buffers) {
    return buffers->count - buffers->free_count;
}
