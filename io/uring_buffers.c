// The provided buffer ring of a shard.
//
// Success: uring_buffers_fill puts a buffer behind every free id. A receive completes with the id of the
// buffer that it filled. uring_buffers_return hands that buffer out and frees its id for the next
// uring_buffers_fill.
//
// Single buffers can't be taken back: the kernel alone knows which it has used. The ring is therefore taken
// away and given anew. Nothing is used meanwhile, since the kernel does this ring's work only when this
// thread enters it, and earlier uses have completed. Receives that are under way look the ring up at their
// next arrival.
//
// The kernel takes buffers from the front, and returned buffers are put there. They are still in the cache,
// also where arrivals are as large as buffers, and a turn fills a few. The buffers behind them are for turns
// that fill more.
//
// Failure: when the pool has reached its bound, ids stay free, and receives that find no buffer end with
// -ENOBUFS.
#include "io/uring_buffers.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "core/base/memory.h"

static size_t ring_bytes(const struct uring_buffers *buffers) {
    return buffers->count * sizeof(struct io_uring_buf);
}

static void release_lent(struct uring_buffers *buffers) {
    if (buffers->ring)
        munmap(buffers->ring, ring_bytes(buffers));
    memory_give(buffers->lent);
    memory_give(buffers->free_ids);
}

// The kernel pins this memory, whole pages of it.
static struct io_uring_buf_ring *map_ring(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// Has the kernel take buffers from the ring.
static int list_ring(struct uring_buffers *buffers, struct io_uring *uring) {
    struct io_uring_buf_reg registration = {
        .ring_addr = (uintptr_t)buffers->ring, .ring_entries = buffers->count, .bgid = URING_BUFFERS_GROUP};
    return io_uring_register_buf_ring(uring, &registration, 0);
}

int uring_buffers_open(struct uring_buffers *buffers, struct io_uring *uring, struct buffer_pool *pool,
                       uint32_t count, const char **why) {
    assert(count > 0 && count <= 32768 && (count & (count - 1)) == 0);
    *buffers = (struct uring_buffers){.pool = pool, .free_count = count, .count = count, .max = count};
    buffers->ring = map_ring(ring_bytes(buffers));
    buffers->lent = memory_take_zeroed(count, sizeof(struct buffer *));
    buffers->free_ids = memory_take_zeroed(count, sizeof *buffers->free_ids);
    if (!buffers->ring || !buffers->lent || !buffers->free_ids) {
        *why = "out of memory";
        release_lent(buffers);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        buffers->free_ids[i] = (uint16_t)i;
    int result = list_ring(buffers, uring);
    if (result < 0) {
        *why = "the kernel refused io_uring's ring of provided buffers";
        release_lent(buffers);
    }
    return result < 0 ? result : 0;
}

void uring_buffers_close(struct uring_buffers *buffers, struct io_uring *uring) {
    io_uring_unregister_buf_ring(uring, URING_BUFFERS_GROUP);
    for (uint32_t id = 0; id < buffers->count; id++)
        buffer_drop(buffers->lent[id]);
    release_lent(buffers);
}

static void show(struct uring_buffers *buffers, uint32_t id, int at) {
    io_uring_buf_ring_add(buffers->ring, buffer_arrival(buffers->lent[id]), ARRIVAL_BYTES_MAX, (uint16_t)id,
                          io_uring_buf_ring_mask(buffers->count), at);
}

static void free_id(struct uring_buffers *buffers, uint32_t id) {
    buffers->lent[id] = NULL;
    buffers->free_ids[buffers->free_count++] = (uint16_t)id;
}

// Whether a completion that nobody has read yet brings this buffer.
static bool is_used(const struct ring *ring, uint32_t id) {
    const struct io_uring_cq *cq = &ring->uring.cq;
    for (unsigned at = *cq->khead, tail = ring_tail(ring); at != tail; at++) {
        uint32_t flags = cq->cqes[at & cq->ring_mask].flags;
        if (flags & IORING_CQE_F_BUFFER && flags >> IORING_CQE_BUFFER_SHIFT == id)
            return true;
    }
    return false;
}

// Drops those that are too many; the others are shown to the kernel again, in a ring that it doesn't know.
static void sort_out(struct uring_buffers *buffers, const struct ring *ring) {
    int shown = 0;
    for (uint32_t id = 0; id < buffers->count; id++) {
        if (!buffers->lent[id] || is_used(ring, id))
            continue;
        if ((uint32_t)shown < buffers->max) {
            show(buffers, id, shown++);
            continue;
        }
        buffer_drop(buffers->lent[id]);
        free_id(buffers, id);
    }
    io_uring_buf_ring_advance(buffers->ring, shown);
}

// Not while completions are hidden: they may bring buffers. uring_buffers_fill tries again.
static void take_back_lent(struct uring_buffers *buffers, struct ring *ring) {
    struct io_uring *uring = &ring->uring;
    if (IO_URING_READ_ONCE(*uring->sq.kflags) & IORING_SQ_CQ_OVERFLOW)
        return;
    if (!buffers->unlisted && io_uring_unregister_buf_ring(uring, URING_BUFFERS_GROUP) < 0)
        return;
    io_uring_buf_ring_init(buffers->ring);
    sort_out(buffers, ring);
    buffers->unlisted = list_ring(buffers, uring) < 0;
}

// How many of those that are lent the kernel has used, in completions that nobody has read yet.
static uint32_t count_used(const struct ring *ring) {
    const struct io_uring_cq *cq = &ring->uring.cq;
    uint32_t used = 0;
    for (unsigned at = *cq->khead, tail = ring_tail(ring); at != tail; at++)
        used += (cq->cqes[at & cq->ring_mask].flags & IORING_CQE_F_BUFFER) != 0;
    return used;
}

// Returns one of the ring's places, counted from its end on. The end itself lies in the first one.
static struct io_uring_buf *place(const struct uring_buffers *buffers, int at) {
    return &buffers->ring->bufs[(buffers->ring->tail + at) & io_uring_buf_ring_mask(buffers->count)];
}

// Moves `added` places at the ring's end that the kernel doesn't know yet to the front: the first to the
// front, and so on. The places that were there go to the end. The kernel reads them when it is entered, and
// no sooner. Not while completions are hidden: how many are left isn't known then.
static void put_in_front(const struct uring_buffers *buffers, const struct ring *ring, int added) {
    uint32_t used = count_used(ring), shown = uring_buffers_left(buffers) - (uint32_t)added;
    if (IO_URING_READ_ONCE(*ring->uring.sq.kflags) & IORING_SQ_CQ_OVERFLOW)
        return;
    assert(used <= shown);
    int left = (int)(shown - used), count = left < added ? left : added;
    for (int at = 0; at < count; at++) {
        struct io_uring_buf *front = place(buffers, at - left), *end = place(buffers, at);
        struct io_uring_buf fresh = {.addr = end->addr, .bid = end->bid};
        end->addr = front->addr;
        end->bid = front->bid;
        front->addr = fresh.addr;
        front->bid = fresh.bid;
    }
}

void uring_buffers_fill(struct uring_buffers *buffers, struct ring *ring) {
    int added = 0;
    if (buffers->unlisted || uring_buffers_left(buffers) > buffers->max)
        take_back_lent(buffers, ring);
    while (uring_buffers_left(buffers) < buffers->max) {
        struct buffer *buffer = buffer_take(buffers->pool);
        if (!buffer)
            break;
        uint16_t id = buffers->free_ids[--buffers->free_count];
        buffers->lent[id] = buffer;
        show(buffers, id, added++);
    }
    if (added == 0)
        return;
    put_in_front(buffers, ring, added);
    io_uring_buf_ring_advance(buffers->ring, added);
}

void uring_buffers_limit(struct uring_buffers *buffers, struct ring *ring, uint32_t max) {
    buffers->max = max < buffers->count ? max : buffers->count;
    if (uring_buffers_left(buffers) > buffers->max)
        take_back_lent(buffers, ring);
}

struct buffer *uring_buffers_return(struct uring_buffers *buffers, uint32_t id) {
    assert(id < buffers->count && buffers->lent[id]);
    struct buffer *buffer = buffers->lent[id];
    free_id(buffers, id);
    return buffer;
}
