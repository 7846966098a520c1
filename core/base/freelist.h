// Memory of one size that comes and goes all the time. A freelist keeps some returned blocks for the next
// taker, since the account and the allocator (quota.h) cost more than the work on a block. A kept block stays
// on the account, and no longer than it is needed.
#pragma once

#include <assert.h>

#include "core/base/prefetch.h"
#include "core/base/quota.h"

#ifdef PATCHBAY_SANITIZED
enum { FREELIST_MAX = 0 }; // so that use after its end is seen
#else
enum { FREELIST_MAX = 1024 };
#endif

enum { FREELIST_FETCHED_BYTES = 256 }; // of the next one, while the one before is filled

struct freelist_node {
    struct freelist_node *next;
};

// Zero bytes have none.
struct freelist {
    struct freelist_node *first;
    uint32_t count;
    uint32_t idle; // of those, how many weren't needed since freelist_shrink
};

// NULL: there is none, and it is to be taken from the account.
static inline void *freelist_take(struct freelist *freelist) {
    struct freelist_node *spare = freelist->first;
    assert(!spare == (freelist->count == 0));
    if (!spare)
        return NULL;
    freelist->first = spare->next;
    if (--freelist->count < freelist->idle)
        freelist->idle = freelist->count;
    if (freelist->first)
        prefetch_to_write(freelist->first, FREELIST_FETCHED_BYTES);
    return spare;
}

static inline void freelist_give(struct freelist *freelist, struct quota *quota, void *memory) {
    if (freelist->count == FREELIST_MAX) {
        quota_give(quota, memory);
        return;
    }
    struct freelist_node *spare = memory;
    spare->next = freelist->first;
    freelist->first = spare;
    freelist->count++;
}

// Gives back those that weren't needed since the last call.
static inline void freelist_shrink(struct freelist *freelist, struct quota *quota) {
    assert(freelist->idle <= freelist->count);
    for (uint32_t left = freelist->idle; left > 0; left--)
        quota_give(quota, freelist_take(freelist));
    freelist->idle = freelist->count;
}

// Gives back those that there are.
static inline void freelist_release(struct freelist *freelist, struct quota *quota) {
    for (void *memory; (memory = freelist_take(freelist));)
        quota_give(quota, memory);
}
