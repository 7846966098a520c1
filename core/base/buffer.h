// Reference-counted byte buffers and the pool of receive buffers that a shard lends to the kernel.
//
// A buffer belongs to the shard whose pool made it. The count is a plain integer that only that shard
// touches: a reference that travels to another shard travels back through the mailbox before it is dropped.
// The pool grows on demand up to the hub's memory bound and keeps returned buffers. The last returned buffer
// is taken first, because it is still in the cache.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/limits.h"

struct buffer_pool;

struct buffer {
    struct buffer *next;      // in the pool's free list; NULL otherwise
    struct buffer_pool *pool; // whose it is
    uint32_t references;
    uint32_t capacity; // bytes that may be written; BUFFER_SLACK_BYTES more may be read
    uint8_t bytes[];
};

// User memory that the whole hub holds, in bytes, and its bound: buffers, parcels and their texts, and the
// quota (quota.h). Shared by all shards' pools.
//
// - The last three sixteenths aren't for large frames nor for events. When they are begun, memory should be
// won back.
// - The last eighth isn't for receiving either, not even into buffers at rest. Arrivals that are in the hub already may
// use the last eighth: about as much as the shards lend to the kernel.
// - The very last part is left for answers.
struct buffer_budget {
    _Atomic uint64_t bytes;
    _Atomic uint64_t bytes_max;
    _Atomic uint64_t quota_bytes; // of the bytes, those that the accounts of quota.h have
    _Atomic uint64_t refused;     // how often it had no room for more
};

// How many parts in 64 of the budget, at its end, a use may not touch.
enum budget_use {
    BUDGET_OWED = 0,      // answers, by whomever: without one, a connection ends
    BUDGET_MESSAGE = 1,   // requests and notifications, which can be refused
    BUDGET_PART = 2,      // parts of frames
    BUDGET_RECEIVING = 8, // which can stop
    BUDGET_PLENTY = 12,   // large frames, which can wait, and events, which can be missed
};

// Counts so many bytes in; false when that use of the budget has no room for them: it has been noted then.
bool buffer_budget_take(struct buffer_budget *budget, uint64_t bytes, enum budget_use use);
void buffer_budget_give(struct buffer_budget *budget, uint64_t bytes);
// Whether that use of the budget has room for so many bytes. Counts nothing.
bool buffer_budget_has_room(struct buffer_budget *budget, uint64_t bytes, enum budget_use use);
// Whether the last three sixteenths have been begun.
bool buffer_budget_tight(const struct buffer_budget *budget);

struct buffer_pool {
    struct buffer *free; // receive buffers at rest
    uint32_t free_count;
    uint32_t idle_count; // of them, how many weren't needed since buffer_pool_shrink
    uint32_t made;       // receive buffers in being, at rest or not
    uint32_t out_large;  // other buffers in being
    uint32_t returned;   // to the allocator since buffer_pool_shrink was called, or by it
    struct buffer_budget *budget;
};

void buffer_pool_init(struct buffer_pool *pool, struct buffer_budget *budget);
// Gives the memory of the free buffers back. Every buffer must have come home (buffer_pool_full).
void buffer_pool_deinit(struct buffer_pool *pool);
// Gives the memory of the buffers at rest back.
void buffer_pool_trim(struct buffer_pool *pool);
// Gives back the memory of buffers that have been at rest since the last call.
void buffer_pool_shrink(struct buffer_pool *pool);
// Whether every buffer that the pool made has come home.
bool buffer_pool_full(const struct buffer_pool *pool);

// A receive buffer (RECEIVE_BUFFER_BYTES) with one reference, or NULL when its share of the budget, or
// memory, is used up.
struct buffer *buffer_take(struct buffer_pool *pool);
// A buffer of `capacity` bytes with one reference, for a part of a frame, or NULL likewise.
struct buffer *buffer_take_sized(struct buffer_pool *pool, uint32_t capacity);
// Returns a buffer for a whole frame, or NULL: a frame larger than a receive buffer gets nothing of the last three
// sixteenths of the budget.
struct buffer *buffer_take_large(struct buffer_pool *pool, uint32_t capacity);
// Whether buffer_take_large would find room if nothing else were there.
bool buffer_pool_could_take(const struct buffer_pool *pool, uint32_t capacity);
// Whether buffer_take would find room within the budget now.
bool buffer_pool_can_take(const struct buffer_pool *pool);

// Returns the place of an arrival in a receive buffer: up to ARRIVAL_BYTES_MAX. An arrival that waits may lie so in a
// smaller buffer.
static inline uint8_t *buffer_arrival(struct buffer *buffer) {
    assert(buffer->capacity > RECEIVE_HEAD_BYTES);
    return buffer->bytes + RECEIVE_HEAD_BYTES;
}

// One more reference, on the owner's shard.
static inline void buffer_hold(struct buffer *buffer) {
    assert(buffer->references > 0 && buffer->references < UINT32_MAX);
    buffer->references++;
}

// Gives one reference up, on the owner's shard; the last one sends the buffer home. NULL is allowed.
void buffer_drop(struct buffer *buffer);
