// The provided buffer ring of a shard.
//
// It goes well: lend_fill puts a buffer behind every free id; a receive completes with the id of the one that
// it filled; lend_return hands that buffer out and frees its id for the next lend_fill.
//
// It fails: when the pool has reached its bound, ids stay free, and receives that find no buffer end with
// -ENOBUFS.
#include "io/uring_lend.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#include "core/memory.h"

static size_t ring_bytes(const struct lend *lend) {
    return lend->count * sizeof(struct io_uring_buf);
}

static void release(struct lend *lend) {
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

int lend_open(struct lend *lend, struct io_uring *uring, struct buffer_pool *pool, uint32_t count,
              const char **why) {
    assert(count > 0 && count <= 32768 && (count & (count - 1)) == 0);
    *lend = (struct lend){.pool = pool, .free_count = count, .count = count};
    lend->ring = map_ring(ring_bytes(lend));
    lend->lent = memory_take_zeroed(count, sizeof(struct buffer *));
    lend->free_ids = memory_take_zeroed(count, sizeof *lend->free_ids);
    if (!lend->ring || !lend->lent || !lend->free_ids) {
        *why = "out of memory";
        release(lend);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++)
        lend->free_ids[i] = (uint16_t)i;
    struct io_uring_buf_reg registration = {
        .ring_addr = (uintptr_t)lend->ring, .ring_entries = count, .bgid = LEND_GROUP};
    int result = io_uring_register_buf_ring(uring, &registration, 0);
    if (result < 0) {
        *why = "the kernel refused io_uring's ring of provided buffers";
        release(lend);
    }
    return result < 0 ? result : 0;
}

void lend_close(struct lend *lend, struct io_uring *uring) {
    io_uring_unregister_buf_ring(uring, LEND_GROUP);
    for (uint32_t id = 0; id < lend->count; id++)
        buffer_drop(lend->lent[id]);
    release(lend);
}

void lend_fill(struct lend *lend) {
    int added = 0;
    while (lend->free_count > 0) {
        struct buffer *buffer = buffer_take(lend->pool);
        if (!buffer)
            break;
        uint16_t id = lend->free_ids[--lend->free_count];
        lend->lent[id] = buffer;
        io_uring_buf_ring_add(lend->ring, buffer_arrival(buffer), ARRIVAL_BYTES_MAX, id,
                              io_uring_buf_ring_mask(lend->count), added++);
    }
    if (added > 0)
        io_uring_buf_ring_advance(lend->ring, added);
}

struct buffer *lend_return(struct lend *lend, uint32_t id) {
    assert(id < lend->count && lend->lent[id]);
    struct buffer *buffer = lend->lent[id];
    lend->lent[id] = NULL;
    lend->free_ids[lend->free_count++] = (uint16_t)id;
    return buffer;
}
