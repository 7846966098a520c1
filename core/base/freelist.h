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
static inline void *freelist_take(struct freelist *spares) {
    struct freelist_node *spare = spares->first;
    assert(!spare == (spares->count == 0));
    if (!spare)
        return NULL;
    spares->first = spare->next;
    if (--spares->count < spares->idle)
        spares->idle = spares->count;
    if (spares->first)
        prefetch_to_write(spares->first, FREELIST_FETCHED_BYTES);
    return spare;
}

static inline void freelist_give(struct freelist *spares, struct quota *kept, void *memory) {
    if (spares->count == FREELIST_MAX) {
        quota_give(kept, memory);
        return;
    }
    struct freelist_node *spare = memory;
    spare->next = spares->first;
    spares->first = spare;
    spares->count++;
}

// Gives back those that weren't needed since the last call.
static inline void freelist_shrink(struct freelist *spares, struct quota *kept) {
    assert(spares->idle <= spares->count);
    for (uint32_t left = spares->idle; left > 0; left--)
        quota_give(kept, freelist_take(spares));
    spares->idle = spares->count;
}

// Gives back those that there are.
static inline void freelist_release(struct freelist *spares, struct quota *kept) {
    for (void *memory; (memory = freelist_take(spares));)
        quota_give(kept, memory);
}
