// Where all of the hub's memory comes from: mimalloc, whose heaps are one a thread and so one a shard; the C
// library in sanitizer builds. A test can make the n-th allocation fail.
#pragma once

#include <stddef.h>
#include <stdint.h>

// `bytes` of memory, not zeroed, or NULL. Aligned for any type.
__attribute__((malloc, warn_unused_result)) void *memory_take(size_t bytes);
// `bytes` of memory, not zeroed, in pages of their own, which all go back with it; or NULL.
__attribute__((malloc, warn_unused_result)) void *memory_take_whole(size_t bytes);
// `count` times `bytes` of zeroed memory, or NULL.
__attribute__((malloc, warn_unused_result)) void *memory_take_zeroed(size_t count, size_t bytes);
// Zeroed and aligned to `alignment`, a power of two that divides `bytes`.
__attribute__((malloc, warn_unused_result)) void *memory_take_aligned(size_t alignment, size_t bytes);
// Grows or shrinks what memory_take gave; NULL leaves the old memory as it was.
__attribute__((warn_unused_result)) void *memory_resize(void *memory, size_t bytes);
// Takes back what memory_take gave, on any thread. NULL is allowed.
void memory_give(void *memory);
// How many bytes of memory that takes, as the allocator says; and how many `bytes` would take.
size_t memory_bytes(const void *memory);
size_t memory_bytes_for(size_t bytes);
// Before there are threads: how long the allocator keeps what it is given is settled. Without it, it decides that itself.
void memory_begin(void);
// Has the allocator give what the calling thread has freed back to the system, as far as whole pages of it
// are free.
void memory_collect(void);

// For tests: after `after` more allocations on this thread the `count` next ones fail. How many were left
// before the first failure of the call before this one; UINT64_MAX: none was to fail, or all that were have
// failed.
uint64_t memory_fail(uint64_t after, uint64_t count);
// For tests: after `count` more allocations on this thread each one fails until called with UINT64_MAX.
void memory_fail_after(uint64_t count);

// --- Prefetch

// Fetches memory that will be wanted soon while the processor does something else, line by line. No caller
// waits for it, and memory that isn't there does no harm. The compiler takes a function that only fetches for one without
// effect, and drops calls of it: such functions must always be inlined.

enum { CACHE_LINE_BYTES = 64 };

static inline __attribute__((always_inline)) void prefetch_to_read(const void *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)memory + at);
}

static inline __attribute__((always_inline)) void prefetch_to_write(const void *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)memory + at, 1);
}
