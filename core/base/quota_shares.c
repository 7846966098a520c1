#include "core/base/quota_shares.h"

#include <assert.h>

static _Atomic uint64_t *place_of(struct quota_shares *shares, uint64_t holder, unsigned row) {
    assert(row < QUOTA_SHARES_ROWS);
    return &shares->bytes[row][holder >> (row * QUOTA_SHARES_BITS) & (QUOTA_SHARES_PLACES - 1)];
}

bool quota_shares_take(struct quota_shares *shares, uint64_t holder, uint64_t bytes, uint64_t max) {
    uint64_t least = UINT64_MAX;
    for (unsigned row = 0; row < QUOTA_SHARES_ROWS; row++) {
        uint64_t had = atomic_fetch_add_explicit(place_of(shares, holder, row), bytes, memory_order_relaxed);
        least = had < least ? had : least;
    }
    if (bytes <= max && least <= max - bytes)
        return true;
    quota_shares_give(shares, holder, bytes);
    return false;
}

void quota_shares_give(struct quota_shares *shares, uint64_t holder, uint64_t bytes) {
    for (unsigned row = 0; row < QUOTA_SHARES_ROWS; row++) {
        uint64_t had = atomic_fetch_sub_explicit(place_of(shares, holder, row), bytes, memory_order_relaxed);
        assert(had >= bytes);
        (void)had;
    }
}
