#include "core/base/buffer.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/memory.h"

// Free receive buffers beyond this number are given back to the allocator, so that the memory of a burst isn't kept
// forever.
enum { FREE_COUNT_MAX = 4 * RECEIVE_BUFFERS_PROVIDED };

// Buffers of at least this capacity get pages of their own.
enum { WHOLE_BYTES_MIN = 32 * 1024 };

static size_t buffer_footprint(uint32_t capacity) {
    return sizeof(struct buffer) + capacity + BUFFER_SLACK_BYTES;
}

void buffer_pool_init(struct buffer_pool *pool, struct buffer_budget *budget) {
    assert(budget);
    *pool = (struct buffer_pool){.budget = budget};
}

static uint64_t bytes_max(const struct buffer_budget *budget, enum budget_use use) {
    assert(use <= BUDGET_PLENTY);
    uint64_t max = atomic_load_explicit(&budget->bytes_max, memory_order_relaxed);
    return max - max / 64 * use;
}

static bool buffer_has_room(const struct buffer_budget *budget, uint64_t bytes, enum budget_use use) {
    return atomic_load_explicit(&budget->bytes, memory_order_relaxed) + bytes <= bytes_max(budget, use);
}

bool buffer_budget_tight(const struct buffer_budget *budget) {
    return !buffer_has_room(budget, 0, BUDGET_PLENTY);
}

static void note_refused(struct buffer_budget *budget) {
    atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
}

bool buffer_budget_take(struct buffer_budget *budget, uint64_t bytes, enum budget_use use) {
    uint64_t before = atomic_fetch_add_explicit(&budget->bytes, bytes, memory_order_relaxed);
    if (before + bytes <= bytes_max(budget, use))
        return true;
    buffer_budget_give(budget, bytes);
    note_refused(budget);
    return false;
}

void buffer_budget_give(struct buffer_budget *budget, uint64_t bytes) {
    assert(atomic_load_explicit(&budget->bytes, memory_order_relaxed) >= bytes);
    atomic_fetch_sub_explicit(&budget->bytes, bytes, memory_order_relaxed);
}

bool buffer_budget_has_room(struct buffer_budget *budget, uint64_t bytes, enum budget_use use) {
    bool fits = buffer_has_room(budget, bytes, use);
    if (!fits)
        note_refused(budget);
    return fits;
}

static struct buffer *buffer_make(struct buffer_pool *pool, uint32_t capacity, enum budget_use use) {
    uint64_t bytes = buffer_footprint(capacity);
    if (!buffer_budget_take(pool->budget, bytes, use))
        return NULL;
    struct buffer *buffer = capacity < WHOLE_BYTES_MIN ? memory_take(bytes) : memory_take_whole(bytes);
    if (!buffer) {
        buffer_budget_give(pool->budget, bytes);
        return NULL;
    }
    buffer->next = NULL;
    buffer->pool = pool;
    buffer->references = 1;
    buffer->capacity = capacity;
    memset(buffer->bytes + capacity, 0, BUFFER_SLACK_BYTES);
    return buffer;
}

static void buffer_unmake(struct buffer *buffer) {
    assert(buffer->references == 0);
    buffer->pool->returned++;
    buffer_budget_give(buffer->pool->budget, buffer_footprint(buffer->capacity));
    memory_give(buffer);
}

// Keeps the `count` free buffers that were returned last, which are in the cache. Gives back the others.
static void buffer_keep(struct buffer_pool *pool, uint32_t count) {
    assert(count <= pool->free_count && pool->free_count <= pool->made);
    struct buffer **rest = &pool->free;
    for (uint32_t index = 0; index < count; index++)
        rest = &(*rest)->next;
    for (struct buffer *buffer; (buffer = *rest);) {
        *rest = buffer->next;
        buffer_unmake(buffer);
    }
    pool->made -= pool->free_count - count;
    pool->idle_count = pool->free_count = count;
}

void buffer_pool_trim(struct buffer_pool *pool) {
    buffer_keep(pool, 0);
}

void buffer_pool_shrink(struct buffer_pool *pool) {
    assert(pool->idle_count <= pool->free_count);
    pool->returned = 0;
    buffer_keep(pool, pool->free_count - pool->idle_count);
}

void buffer_pool_deinit(struct buffer_pool *pool) {
    assert(buffer_pool_full(pool));
    buffer_pool_trim(pool);
    assert(!pool->free && pool->made == 0);
}

bool buffer_pool_full(const struct buffer_pool *pool) {
    assert(pool->free_count <= pool->made);
    return pool->free_count == pool->made && pool->out_large == 0;
}

static struct buffer *take_receive_buffer(struct buffer_pool *pool, enum budget_use use) {
    assert(!pool->free == (pool->free_count == 0));
    struct buffer *buffer = pool->free;
    if (buffer && !buffer_has_room(pool->budget, 0, use)) {
        note_refused(pool->budget);
        return NULL;
    }
    if (buffer) {
        assert(buffer->references == 0 && buffer->pool == pool && buffer->capacity == RECEIVE_BUFFER_BYTES);
        pool->free = buffer->next;
        if (--pool->free_count < pool->idle_count)
            pool->idle_count = pool->free_count;
        buffer->next = NULL;
        buffer->references = 1;
        return buffer;
    }
    buffer = buffer_make(pool, RECEIVE_BUFFER_BYTES, use);
    if (buffer)
        pool->made++;
    return buffer;
}

static struct buffer *take_with_room(struct buffer_pool *pool, uint32_t capacity, enum budget_use use) {
    // A buffer of just this capacity must count as a receive buffer, since buffer_drop tells the two kinds apart by
    // capacity.
    if (capacity == RECEIVE_BUFFER_BYTES)
        return take_receive_buffer(pool, use);
    struct buffer *buffer = buffer_make(pool, capacity, use);
    if (buffer)
        pool->out_large++;
    return buffer;
}

struct buffer *buffer_take(struct buffer_pool *pool) {
    return take_receive_buffer(pool, BUDGET_RECEIVING);
}

struct buffer *buffer_take_sized(struct buffer_pool *pool, uint32_t capacity) {
    return take_with_room(pool, capacity, BUDGET_PART);
}

static enum budget_use use_for_whole(uint32_t capacity) {
    return capacity > RECEIVE_BUFFER_BYTES ? BUDGET_PLENTY : BUDGET_PART;
}

struct buffer *buffer_take_large(struct buffer_pool *pool, uint32_t capacity) {
    return take_with_room(pool, capacity, use_for_whole(capacity));
}

bool buffer_pool_can_take(const struct buffer_pool *pool) {
    return buffer_has_room(pool->budget, pool->free ? 0 : buffer_footprint(RECEIVE_BUFFER_BYTES),
                           BUDGET_RECEIVING);
}

bool buffer_pool_could_take(const struct buffer_pool *pool, uint32_t capacity) {
    return buffer_footprint(capacity) <= bytes_max(pool->budget, use_for_whole(capacity));
}

static void take_returned(struct buffer *buffer) {
    assert(buffer->references == 0 && !buffer->next);
    struct buffer_pool *pool = buffer->pool;
    assert(buffer->capacity != RECEIVE_BUFFER_BYTES || pool->free_count < pool->made);
    if (buffer->capacity != RECEIVE_BUFFER_BYTES) {
        assert(pool->out_large > 0);
        pool->out_large--;
        buffer_unmake(buffer);
    } else if (pool->free_count >= FREE_COUNT_MAX) {
        pool->made--;
        buffer_unmake(buffer);
    } else {
        buffer->next = pool->free;
        pool->free = buffer;
        pool->free_count++;
    }
}

void buffer_drop(struct buffer *buffer) {
    if (!buffer)
        return;
    assert(buffer->references > 0);
    if (--buffer->references == 0)
        take_returned(buffer);
}
