// The submission and completion rings of one shard: set-up, room for what is noted, and the one way into the
// kernel. Known to io/uring*.c only.
#pragma once

#include <assert.h>
#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "core/base/buffer.h"

// A feature that Linux 6.12 has and liburing 2.3 doesn't name.
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
    uint64_t entries; // into the kernel
    bool min_wait;    // the kernel holds a wait itself
    bool restricted;  // the kernel refuses on it what the hub doesn't use
};

// Opens the calling thread's ring. 0, or -errno with *why set to static text. With `walled` it is walled in, if the kernel can.
int ring_open(struct ring *ring, bool restricted, const char **why);
void ring_close(struct ring *ring);

// An empty submission; never NULL. When the queue is full, what is in it goes to the kernel first.
struct io_uring_sqe *ring_note(struct ring *ring);
// A message header that stays as it is until the kernel has read the submission.
static inline struct msghdr *ring_message(struct ring *ring, const struct io_uring_sqe *sqe) {
    return &ring->messages[sqe - ring->uring.sq.sqes];
}

// Hands all that is noted to the kernel.
void ring_submit(struct ring *ring);
// Hands all that is noted to the kernel and lets it post completions. If there are none, waits for up to wait_ns (0:
// not at all, UINT64_MAX: without end). With hold_ns, which is no longer, one completion ends the wait only after
// that time, and before it many do. May return earlier, with nothing.
void ring_enter(struct ring *ring, uint64_t wait_ns, uint64_t hold_ns);
// Lets the kernel post what has completed, and hands nothing over.
void ring_look(struct ring *ring);

// Whether something has completed, or would if the ring were entered. Enters nothing.
static inline bool ring_stirs(const struct ring *ring) {
    return IO_URING_READ_ONCE(*ring->uring.sq.kflags) & (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW) ||
           io_uring_smp_load_acquire(ring->uring.cq.ktail) != *ring->uring.cq.khead;
}

// The oldest completion before `tail`, or NULL.
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
// The receive buffers that a shard's ring has on loan: the kernel picks one when bytes arrive, so memory
// follows traffic and not the number of connections. Known to io/uring*.c only.

enum { URING_BUFFERS_GROUP = 0 }; // the one buffer group of a ring

struct uring_buffers {
    struct buffer_pool *pool;
    struct io_uring_buf_ring *ring; // shared with the kernel
    struct buffer **provided;       // by buffer id; NULL: the id is free
    uint16_t *free_ids;             // the last one freed is used first
    uint32_t free_count;
    uint32_t count;
    uint32_t max;  // of them, how many may be lent
    bool unlisted; // the kernel has no ring: it could not be registered again
};

// Registers room for `count` (a power of two) buffers, none of them lent yet. 0, or -errno with *why set.
int uring_buffers_open(struct uring_buffers *buffers, struct io_uring *uring, struct buffer_pool *pool,
                       uint32_t count, const char **why);
// Takes the room and all buffers back. No receive may be under way.
void uring_buffers_close(struct uring_buffers *buffers, struct io_uring *uring);

// Lends buffers up to the limit, as far as the pool goes.
void uring_buffers_fill(struct uring_buffers *buffers, struct ring *ring);
// From now on at most so many are lent. Beyond that, buffers that the kernel has not used go back to the
// pool.
void uring_buffers_limit(struct uring_buffers *buffers, struct ring *ring, uint32_t max);
// The kernel has used this one: the reference is the caller's.
struct buffer *uring_buffers_return(struct uring_buffers *buffers, uint32_t id);
// How many the kernel has, as far as completions have been read.
static inline uint32_t uring_buffers_left(const struct uring_buffers *buffers) {
    return buffers->count - buffers->free_count;
}
