// Memory of one size that comes and goes all the time: some of what is given back stays for who takes next, since the account and
// the allocator (kept.h) cost more than what is done with it. It stays on the account, and so no longer than it is needed.
#pragma once

#include <assert.h>

#include "core/base/fetch.h"
#include "core/base/kept.h"

#ifdef PATCHBAY_SANITIZED
enum { SPARES_MAX = 0 }; // so that use after its end is seen
#else
enum { SPARES_MAX = 1024 };
#endif

enum { SPARE_FETCHED_BYTES = 256 }; // of the next one, while the one before is filled

struct spare {
    struct spare *next;
};

// Zero bytes have none.
struct spares {
    struct spare *first;
    uint32_t count;
    uint32_t idle; // of those, how many weren't needed since spares_shrink
};

// NULL: there is none, and it is to be taken from the account.
static inline void *spares_take(struct spares *spares) {
    struct spare *spare = spares->first;
    assert(!spare == (spares->count == 0));
    if (!spare)
        return NULL;
    spares->first = spare->next;
    if (--spares->count < spares->idle)
        spares->idle = spares->count;
    if (spares->first)
        fetch_to_write(spares->first, SPARE_FETCHED_BYTES);
    return spare;
}

static inline void spares_give(struct spares *spares, struct kept *kept, void *memory) {
    if (spares->count == SPARES_MAX) {
        kept_give(kept, memory);
        return;
    }
    struct spare *spare = memory;
    spare->next = spares->first;
    spares->first = spare;
    spares->count++;
}

// Gives back those that weren't needed since the last call.
static inline void spares_shrink(struct spares *spares, struct kept *kept) {
    assert(spares->idle <= spares->count);
    for (uint32_t left = spares->idle; left > 0; left--)
        kept_give(kept, spares_take(spares));
    spares->idle = spares->count;
}

// Gives back those that there are.
static inline void spares_release(struct spares *spares, struct kept *kept) {
    for (void *memory; (memory = spares_take(spares));)
        kept_give(kept, memory);
}
