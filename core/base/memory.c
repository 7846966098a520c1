#include "core/base/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef PATCHBAY_MIMALLOC
#include <mimalloc.h>
#include <sys/mman.h>
#include <unistd.h>
#else
#include <malloc.h>
#define mi_malloc              malloc
#define mi_calloc              calloc
#define mi_realloc             realloc
#define mi_free                free
#define mi_aligned_alloc       aligned_alloc
#define mi_good_size(bytes)    (bytes)
#define mi_usable_size(memory) malloc_usable_size((void *)(uintptr_t)(memory))
#endif

static _Thread_local uint64_t allocations_left = UINT64_MAX;
static _Thread_local uint64_t failures_left;

static int fails(void) {
    if (allocations_left == UINT64_MAX)
        return 0;
    if (allocations_left > 0) {
        allocations_left--;
        return 0;
    }
    assert(failures_left > 0);
    if (--failures_left == 0)
        allocations_left = UINT64_MAX;
    return 1;
}

void *memory_take(size_t bytes) {
    return fails() ? NULL : mi_malloc(bytes);
}

#ifdef PATCHBAY_MIMALLOC
// Gives the whole pages between the two addresses back to the system. If that fails, their memory stays in use until
// the block is freed.
static void forget(uint8_t *from, uint8_t *to) {
    assert(from <= to);
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *first = from + (page - (uintptr_t)from % page) % page, *last = to - (uintptr_t)to % page;
    if (first < last)
        madvise(first, (size_t)(last - first), MADV_DONTNEED);
}

// Takes a block with pages of its own. mimalloc puts blocks of up to 128 KiB side by side, and keeps their pages while
// one of these blocks is in use. A larger block has pages of its own, but an earlier block may have used some of these
// pages. Pages beyond `bytes` that the earlier block touched would stay resident as long as the new block.
void *memory_take_whole(size_t bytes) {
    enum { SIDE_BY_SIDE_BYTES_MAX = 128 * 1024 };
    uint8_t *memory = memory_take(bytes > SIDE_BY_SIDE_BYTES_MAX ? bytes : SIDE_BY_SIDE_BYTES_MAX + 1);
    if (memory)
        forget(memory + bytes, memory + mi_usable_size(memory));
    return memory;
}
#else
void *memory_take_whole(size_t bytes) {
    return memory_take(bytes); // so that the sanitizer knows where the block ends
}
#endif

void *memory_take_zeroed(size_t count, size_t bytes) {
    return fails() ? NULL : mi_calloc(count, bytes);
}

void *memory_take_aligned(size_t alignment, size_t bytes) {
    assert((alignment & (alignment - 1)) == 0 && bytes % alignment == 0);
    void *memory = fails() ? NULL : mi_aligned_alloc(alignment, bytes);
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *memory_resize(void *memory, size_t bytes) {
    assert(bytes > 0);
    return fails() ? NULL : mi_realloc(memory, bytes);
}

void memory_give(void *memory) {
    mi_free(memory);
}

size_t memory_bytes(const void *memory) {
    return mi_usable_size(memory);
}

size_t memory_bytes_for(size_t bytes) {
    return mi_good_size(bytes);
}

// The next large body mostly uses the memory of the last one. mimalloc would give that memory back to the kernel after
// 10 to 25 ms. Taking the memory anew costs a third of a large body's CPU time.
enum { KEPT_MS = 100 };

#ifndef PATCHBAY_MIMALLOC
void memory_begin(void) {}

void memory_collect(void) {}
#elif MI_MALLOC_VERSION < 210
void memory_begin(void) {
    mi_option_set(mi_option_decommit_delay, KEPT_MS);
}

// Gives freed pages back to the system. Up to 2.0, mimalloc gives pages back only when others are taken or freed in
// their segment, and only some milliseconds after the last time. In an idle hub that would be never. The function
// therefore sets that delay to 0, takes and frees a block, and sets the delay again.
void memory_collect(void) {
    enum { BLOCK_BYTES = 128 * 1024 + 1 };
    mi_option_set(mi_option_decommit_delay, 0);
    mi_collect(true);
    mi_free(mi_malloc(BLOCK_BYTES));
    mi_option_set(mi_option_decommit_delay, KEPT_MS);
}
#else
void memory_begin(void) {
    mi_option_set(mi_option_purge_delay, KEPT_MS);
}

void memory_collect(void) {
    mi_collect(true);
}
#endif

uint64_t memory_fail(uint64_t after, uint64_t count) {
    uint64_t left = allocations_left;
    allocations_left = count ? after : UINT64_MAX;
    failures_left = count;
    return left;
}

void memory_fail_after(uint64_t count) {
    memory_fail(count, UINT64_MAX);
}
