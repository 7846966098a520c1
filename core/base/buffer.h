// Reference-counted byte buffers, and the pool of receive buffers that a shard provides to the kernel.
//
// A buffer belongs to the shard whose pool made it. Only that shard touches the reference count, a plain integer: a
// reference that another shard has must return through the mailbox before it is dropped. The pool grows on demand up to
// the hub's memory bound and keeps returned buffers. The last returned buffer is taken first, because that buffer is
// still in the cache.
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
    struct buffer_pool *pool; // the pool that owns the buffer
    uint32_t references;
    uint32_t capacity; // bytes that may be written; BUFFER_SLACK_BYTES more may be read
    uint8_t bytes[];
};

// Memory that the whole hub uses, in bytes, and its bound: buffers, parcels and their texts, and the quota (quota.h).
// All shards' pools share a budget.
//
// - Large frames and events may not use the last three sixteenths. When these are in use, the hub should free memory.
// - Receiving may not use the last eighth, not even with free buffers. Arrivals that the hub has already may use the
// last eighth, about as much as the shards provide to the kernel.
// - Only answers may use the very last part.
struct buffer_budget {
    _Atomic uint64_t bytes;
    _Atomic uint64_t bytes_max;
    _Atomic uint64_t quota_bytes; // the part of `bytes` that the accounts of quota.h have
    _Atomic uint64_t refused;     // how often a use found no room
};

// The uses of the budget. The value is how many of 64 parts, at the end of the budget, the use may not touch.
enum budget_use {
    BUDGET_OWED = 0,      // answers of agents and of the hub: without memory for an answer, a connection ends
    BUDGET_MESSAGE = 1,   // requests and notifications: the hub can refuse these
    BUDGET_PART = 2,      // parts of frames
    BUDGET_RECEIVING = 8, // receiving: the hub can stop reading
    BUDGET_PLENTY = 12,   // large frames, which can wait, and events, which can be lost
};

// Adds bytes to the budget. Returns false, and counts the refusal, if the budget has no room for this use.
bool buffer_budget_take(struct buffer_budget *budget, uint64_t bytes, enum budget_use use);
void buffer_budget_give(struct buffer_budget *budget, uint64_t bytes);
// Returns whether the budget has room for so many bytes of this use. Counts a refusal, but no bytes.
bool buffer_budget_has_room(struct buffer_budget *budget, uint64_t bytes, enum budget_use use);
// Returns whether the last three sixteenths are in use.
bool buffer_budget_tight(const struct buffer_budget *budget);

struct buffer_pool {
    struct buffer *free; // free receive buffers
    uint32_t free_count;
    uint32_t idle_count; // free buffers that weren't needed since buffer_pool_shrink
    uint32_t made;       // all receive buffers of the pool, free or in use
    uint32_t out_large;  // other buffers in use
    uint32_t returned;   // buffers given back to the allocator since, and by, the last buffer_pool_shrink
    struct buffer_budget *budget;
};

void buffer_pool_init(struct buffer_pool *pool, struct buffer_budget *budget);
// Gives back the memory of the free buffers. No buffer may be in use (buffer_pool_full).
void buffer_pool_deinit(struct buffer_pool *pool);
// Gives back the memory of all free buffers.
void buffer_pool_trim(struct buffer_pool *pool);
// Gives back the memory of buffers that weren't needed since the last call.
void buffer_pool_shrink(struct buffer_pool *pool);
// Returns whether no buffer of the pool is in use.
bool buffer_pool_full(const struct buffer_pool *pool);

// Returns a receive buffer (RECEIVE_BUFFER_BYTES) with one reference; NULL without memory, or without room in the
// budget for BUDGET_RECEIVING.
struct buffer *buffer_take(struct buffer_pool *pool);
// Returns a buffer of `capacity` bytes with one reference, for a part of a frame; NULL without memory, or without room
// in the budget for BUDGET_PART.
struct buffer *buffer_take_sized(struct buffer_pool *pool, uint32_t capacity);
// Returns a buffer for a whole frame, or NULL. A frame larger than a receive buffer may not use the last three
// sixteenths of the budget.
struct buffer *buffer_take_large(struct buffer_pool *pool, uint32_t capacity);
// Returns whether buffer_take_large would find room in an empty budget.
bool buffer_pool_could_take(const struct buffer_pool *pool, uint32_t capacity);
// Returns whether buffer_take would find room in the budget now.
bool buffer_pool_can_take(const struct buffer_pool *pool);

// Returns the place of an arrival in a receive buffer, for up to ARRIVAL_BYTES_MAX. An arrival that waits may have a
// smaller buffer with the same place.
static inline uint8_t *buffer_arrival(struct buffer *buffer) {
    assert(buffer->capacity > RECEIVE_HEAD_BYTES);
    return buffer->bytes + RECEIVE_HEAD_BYTES;
}

// Takes one more reference, on the owner's shard.
static inline void buffer_hold(struct buffer *buffer) {
    assert(buffer->references > 0 && buffer->references < UINT32_MAX);
    buffer->references++;
}

// Drops one reference, on the owner's shard; the last one returns the buffer to its pool. NULL is allowed.
void buffer_drop(struct buffer *buffer);
