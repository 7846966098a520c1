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

static size_t ring_bytes(const struct uring_buffers *lend) {
    return lend->count * sizeof(struct io_uring_buf);
}

static void release_lent(struct uring_buffers *lend) {
    if (lend->ring)
        munmap(lend->ring, ring_bytes(lend));
    memory_give(lend->lent);
    memory_give(lend->free_ids);
}

// The kernel pins this memory, whole pages of it.
static struct io_uring_buf_ring *map_ring(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

// Has the kernel take buffers from the ring.
static int list_ring(struct uring_buffers *lend, struct io_uring *uring) {
    struct io_uring_buf_reg registration = {
        .ring_addr = (uintptr_t)lend->ring, .ring_entries = lend->count, .bgid = URING_BUFFERS_GROUP};
    return io_uring_register_buf_ring(uring, &registration, 0);
}

int uring_buffers_open(struct uring_buffers *lend, struct io_uring *uring, struct buffer_pool *pool,
                       uint32_t count, const char **why) {
    assert(count > 0 && count <= 32768 && (count & (count - 1)) == 0);
    *lend = (struct uring_buffers){.pool = pool, .free_count = count, .count = count, .max = count};
    lend->ring = map_ring(ring_bytes(lend));
    lend->lent = memory_take_zeroed(count, sizeof(struct buffer *));
    lend->free_ids = memory_take_zeroed(count, sizeof *lend->free_ids);
    if (!lend->ring || !lend->lent || !lend->free_ids) {
        *why = "out of memory";
        release_lent(lend);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        lend->free_ids[i] = (uint16_t)i;
    int result = list_ring(lend, uring);
    if (result < 0) {
        *why = "the kernel refused io_uring's ring of provided buffers";
        release_lent(lend);
    }
    return result < 0 ? result : 0;
}

void uring_buffers_close(struct uring_buffers *lend, struct io_uring *uring) {
    io_uring_unregister_buf_ring(uring, URING_BUFFERS_GROUP);
    for (uint32_t id = 0; id < lend->count; id++)
        buffer_drop(lend->lent[id]);
    release_lent(lend);
}

static void show(struct uring_buffers *lend, uint32_t id, int at) {
    io_uring_buf_ring_add(lend->ring, buffer_arrival(lend->lent[id]), ARRIVAL_BYTES_MAX, (uint16_t)id,
                          io_uring_buf_ring_mask(lend->count), at);
}

static void free_id(struct uring_buffers *lend, uint32_t id) {
    lend->lent[id] = NULL;
    lend->free_ids[lend->free_count++] = (uint16_t)id;
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
static void sort_out(struct uring_buffers *lend, const struct ring *ring) {
    int shown = 0;
    for (uint32_t id = 0; id < lend->count; id++) {
        if (!lend->lent[id] || is_used(ring, id))
            continue;
        if ((uint32_t)shown < lend->max) {
            show(lend, id, shown++);
            continue;
        }
        buffer_drop(lend->lent[id]);
        free_id(lend, id);
    }
    io_uring_buf_ring_advance(lend->ring, shown);
}

// Not while completions are hidden: they may bring buffers. uring_buffers_fill tries again.
static void take_back_lent(struct uring_buffers *lend, struct ring *ring) {
    struct io_uring *uring = &ring->uring;
    if (IO_URING_READ_ONCE(*uring->sq.kflags) & IORING_SQ_CQ_OVERFLOW)
        return;
    if (!lend->unlisted && io_uring_unregister_buf_ring(uring, URING_BUFFERS_GROUP) < 0)
        return;
    io_uring_buf_ring_init(lend->ring);
    sort_out(lend, ring);
    lend->unlisted = list_ring(lend, uring) < 0;
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
static struct io_uring_buf *place(const struct uring_buffers *lend, int at) {
    return &lend->ring->bufs[(lend->ring->tail + at) & io_uring_buf_ring_mask(lend->count)];
}

// Moves `added` places at the ring's end that the kernel doesn't know yet to the front: the first to the
// front, and so on. The places that were there go to the end. The kernel reads them when it is entered, and
// no sooner. Not while completions are hidden: how many are left isn't known then.
static void put_in_front(const struct uring_buffers *lend, const struct ring *ring, int added) {
    uint32_t used = count_used(ring), shown = uring_buffers_left(lend) - (uint32_t)added;
    if (IO_URING_READ_ONCE(*ring->uring.sq.kflags) & IORING_SQ_CQ_OVERFLOW)
        return;
    assert(used <= shown);
    int left = (int)(shown - used), count = left < added ? left : added;
    for (int at = 0; at < count; at++) {
        struct io_uring_buf *front = place(lend, at - left), *end = place(lend, at);
        struct io_uring_buf fresh = {.addr = end->addr, .bid = end->bid};
        end->addr = front->addr;
        end->bid = front->bid;
        front->addr = fresh.addr;
        front->bid = fresh.bid;
    }
}

void uring_buffers_fill(struct uring_buffers *lend, struct ring *ring) {
    int added = 0;
    if (lend->unlisted || uring_buffers_left(lend) > lend->max)
        take_back_lent(lend, ring);
    while (uring_buffers_left(lend) < lend->max) {
        struct buffer *buffer = buffer_take(lend->pool);
        if (!buffer)
            break;
        uint16_t id = lend->free_ids[--lend->free_count];
        lend->lent[id] = buffer;
        show(lend, id, added++);
    }
    if (added == 0)
        return;
    put_in_front(lend, ring, added);
    io_uring_buf_ring_advance(lend->ring, added);
}

void uring_buffers_limit(struct uring_buffers *lend, struct ring *ring, uint32_t max) {
    lend->max = max < lend->count ? max : lend->count;
    if (uring_buffers_left(lend) > lend->max)
        take_back_lent(lend, ring);
}

struct buffer *uring_buffers_return(struct uring_buffers *lend, uint32_t id) {
    assert(id < lend->count && lend->lent[id]);
    struct buffer *buffer = lend->lent[id];
    free_id(lend, id);
    return buffer;
}
