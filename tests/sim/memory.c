// core/base/memory.c once more, over the C library's allocator and with a count of what it gives. The linker
// takes these and leaves core's own: world.c needs what only this file has.
#include "tests/sim/memory.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#undef PATCHBAY_MIMALLOC
#define memory_take         plain_take
#define memory_take_whole   plain_take_whole
#define memory_take_zeroed  plain_take_zeroed
#define memory_take_aligned plain_take_aligned
#define memory_resize       plain_resize
#define memory_give         plain_give
#define memory_bytes        plain_bytes
#define memory_bytes_for    plain_bytes_for
#include "core/base/memory.c"
#undef memory_take
#undef memory_take_whole
#undef memory_take_zeroed
#undef memory_take_aligned
#undef memory_resize
#undef memory_give
#undef memory_bytes
#undef memory_bytes_for

// Lies before each block.
struct head {
    alignas(16) size_t bytes; // of the block
    size_t before;            // from where the allocator's begins
    struct sim_account *account;
};

static size_t held, taken;
static struct sim_account nobody, *used = &nobody;

void sim_memory_use(struct sim_account *account) {
    used = account ? account : &nobody;
}

size_t sim_memory_held(void) {
    return held;
}

size_t sim_memory_peak_of(struct sim_account *account) {
    size_t most = account->peak;
    account->peak = account->held;
    return most;
}

size_t sim_memory_taken(void) {
    return taken;
}

static struct head *head_of(const void *memory) {
    return (struct head *)(uintptr_t)memory - 1;
}

static void *count_for(struct sim_account *account, char *begin, size_t before, size_t bytes) {
    if (!begin)
        return NULL;
    *head_of(begin + before) = (struct head){bytes, before, account};
    held += bytes;
    taken += bytes;
    account->held += bytes;
    account->peak = account->held > account->peak ? account->held : account->peak;
    return begin + before;
}

static void *count(char *begin, size_t before, size_t bytes) {
    return count_for(used, begin, before, bytes);
}

void *memory_take(size_t bytes);
void *memory_take(size_t bytes) {
    return count(plain_take(sizeof(struct head) + bytes), sizeof(struct head), bytes);
}

void *memory_take_whole(size_t bytes);
void *memory_take_whole(size_t bytes) {
    void *memory = memory_take(bytes);
    // A buffer bears nothing of what had its memory before: the users' simulator looks for tokens in it.
    return memory ? memset(memory, 0, bytes) : NULL;
}

void *memory_take_zeroed(size_t number, size_t bytes);
void *memory_take_zeroed(size_t number, size_t bytes) {
    return count(plain_take_zeroed(1, sizeof(struct head) + number * bytes), sizeof(struct head),
                 number * bytes);
}

void *memory_take_aligned(size_t alignment, size_t bytes);
void *memory_take_aligned(size_t alignment, size_t bytes) {
    return count(plain_take_aligned(alignment, alignment + bytes), alignment, bytes);
}

void *memory_resize(void *memory, size_t bytes);
void *memory_resize(void *memory, size_t bytes) {
    size_t before = memory ? head_of(memory)->bytes : 0;
    struct sim_account *account = memory ? head_of(memory)->account : used;
    void *resized = plain_resize(memory ? head_of(memory) : NULL, sizeof(struct head) + bytes);
    held -= resized ? before : 0;
    account->held -= resized ? before : 0;
    return count_for(account, resized, sizeof(struct head), bytes);
}

void memory_give(void *memory);
void memory_give(void *memory) {
    if (!memory)
        return;
    held -= head_of(memory)->bytes;
    head_of(memory)->account->held -= head_of(memory)->bytes;
    plain_give((char *)memory - head_of(memory)->before);
}

size_t memory_bytes(const void *memory);
size_t memory_bytes(const void *memory) {
    return memory ? head_of(memory)->bytes : 0;
}

size_t memory_bytes_for(size_t bytes);
size_t memory_bytes_for(size_t bytes) {
    return bytes;
}
