// Gives all of the hub's memory: mimalloc, with one heap for each thread and so for each shard; the C library in
// sanitizer builds. A test can make the n-th allocation fail.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns `bytes` of memory, not zeroed and aligned for any type, or NULL.
__attribute__((malloc, warn_unused_result)) void *memory_take(size_t bytes);
// Returns `bytes` of memory, not zeroed, or NULL. The memory has pages of its own, which memory_give releases whole.
__attribute__((malloc, warn_unused_result)) void *memory_take_whole(size_t bytes);
// Returns `count` times `bytes` of zeroed memory, or NULL.
__attribute__((malloc, warn_unused_result)) void *memory_take_zeroed(size_t count, size_t bytes);
// Returns zeroed memory aligned to `alignment`, a power of two that divides `bytes`, or NULL.
__attribute__((malloc, warn_unused_result)) void *memory_take_aligned(size_t alignment, size_t bytes);
// Grows or shrinks memory of memory_take. On NULL the old memory is unchanged.
__attribute__((warn_unused_result)) void *memory_resize(void *memory, size_t bytes);
// Frees memory of memory_take, on any thread. NULL is allowed.
void memory_give(void *memory);
// Return how many bytes the block has, as the allocator says, and how many a block for `bytes` would have.
size_t memory_bytes(const void *memory);
size_t memory_bytes_for(size_t bytes);
// Sets how long the allocator keeps freed memory. Must be called before there are other threads. Without this call the
// allocator's default holds.
void memory_begin(void);
// Has the allocator give memory that the calling thread has freed back to the system, as far as whole pages are free.
void memory_collect(void);

// Lets `after` more allocations on this thread succeed and the next `count` fail, for tests. Returns how many
// allocations were left before the first failure of the earlier call; UINT64_MAX if none was to fail any more.
uint64_t memory_fail(uint64_t after, uint64_t count);
// Lets `count` more allocations on this thread succeed and all later ones fail, for tests. UINT64_MAX ends that.
void memory_fail_after(uint64_t count);

// --- Prefetch

// Prefetches memory line by line while the processor does something else. No caller waits, and an invalid address does
// no harm. The compiler takes a function that only prefetches for one without effect, and drops calls of it: such
// functions must always be inlined.

enum { CACHE_LINE_BYTES = 64 };

static inline __attribute__((always_inline)) void prefetch_to_read(const void *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)memory + at);
}

static inline __attribute__((always_inline)) void prefetch_to_write(const void *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)memory + at, 1);
}
