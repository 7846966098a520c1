// The receive buffers that a shard's ring has on loan: the kernel picks one when bytes arrive, so memory
// follows traffic and not the number of connections. Known to io/uring*.c only.
#pragma once

#include <liburing.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "io/uring_ring.h"

enum { URING_BUFFERS_GROUP = 0 }; // the one buffer group of a ring

struct uring_buffers {
    struct buffer_pool *pool;
    struct io_uring_buf_ring *ring; // shared with the kernel
    struct buffer **lent;           // by buffer id; NULL: the id is free
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
