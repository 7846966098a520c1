#include "core/base/quota.h"

#include <assert.h>

#include "core/base/memory.h"

void quota_init(struct quota *quota, struct buffer_budget *budget) {
    assert(budget);
    *quota = (struct quota){.budget = budget, .little_bytes = QUOTA_LITTLE_BYTES_MIN};
}

void quota_init_beside(struct quota *quota, struct buffer_budget *budget) {
    quota_init(quota, budget);
    quota->beside = true;
}

uint64_t quota_bytes_max(const struct quota *quota) {
    return atomic_load_explicit(&quota->budget->bytes_max, memory_order_relaxed) / 4;
}

uint64_t quota_bytes_left(const struct quota *quota) {
    uint64_t max = quota_bytes_max(quota);
    uint64_t bytes = atomic_load_explicit(&quota->budget->quota_bytes, memory_order_relaxed);
    return bytes < max ? max - bytes : 0;
}

// --- Grants

static void quota_add(struct quota *quota, int64_t bytes) {
    assert(bytes >= 0 || quota->beside ||
           atomic_load_explicit(&quota->budget->quota_bytes, memory_order_relaxed) >= (uint64_t)-bytes);
    quota->granted += bytes;
    if (!quota->beside)
        atomic_fetch_add_explicit(&quota->budget->quota_bytes, (uint64_t)bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&quota->budget->bytes, (uint64_t)bytes, memory_order_relaxed);
}

// Takes a grant of `bytes` from the budget. Returns false without room. If the budget as a whole has no room, the
// refusal is counted, so that the hub frees memory of the peer that uses most (buffer.h).
static bool draw(struct quota *quota, uint64_t bytes) {
    assert(bytes > 0 && bytes <= INT64_MAX);
    struct buffer_budget *budget = quota->budget;
    if (quota->beside) {
        quota_add(quota, (int64_t)bytes);
        return true;
    }
    uint64_t all_max = atomic_load_explicit(&budget->bytes_max, memory_order_relaxed);
    uint64_t before = atomic_fetch_add_explicit(&budget->quota_bytes, bytes, memory_order_relaxed);
    uint64_t all_before = atomic_fetch_add_explicit(&budget->bytes, bytes, memory_order_relaxed);
    quota->granted += (int64_t)bytes;
    bool fits = before + bytes <= quota_bytes_max(quota), all_fits = all_before + bytes <= all_max;
    if (!fits || !all_fits)
        quota_add(quota, -(int64_t)bytes);
    if (fits && !all_fits)
        atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
    return fits && all_fits;
}

static int64_t spare(const struct quota *quota) {
    return quota->granted - quota->used;
}

// Takes a grant for `bytes` more: with a spare part or, near the bound, without it.
static bool draw_for(struct quota *quota, size_t bytes) {
    assert(spare(quota) >= 0);
    int64_t lack = quota->used + (int64_t)memory_bytes_for(bytes) - quota->granted;
    if (lack <= 0 || draw(quota, (uint64_t)lack + QUOTA_GRANT_BYTES) || draw(quota, (uint64_t)lack))
        return true;
    quota->refused++;
    return false;
}

// Makes room for a block of `bytes`. The allocator's blocks may be larger than asked for, so draw_for asks for the
// block's size when that could matter.
static inline bool quota_make_room(struct quota *quota, size_t bytes) {
    assert(bytes <= INT64_MAX / 2 - 64);
    return spare(quota) >= (int64_t)(2 * bytes) + 64 || draw_for(quota, bytes);
}

// Counts bytes as used or given back. One spare grant stays, so that memory that is taken and given back in turn
// doesn't touch the budget.
static void use(struct quota *quota, int64_t bytes) {
    quota->used += bytes;
    if (quota->used > quota->granted)
        quota_add(quota, quota->used - quota->granted);
    if (spare(quota) > 2 * QUOTA_GRANT_BYTES)
        quota_add(quota, QUOTA_GRANT_BYTES - spare(quota));
    assert(spare(quota) >= 0 && spare(quota) <= 2 * QUOTA_GRANT_BYTES);
}

bool quota_set_aside(struct quota *quota, uint64_t bytes) {
    if (bytes && !draw(quota, bytes))
        return false;
    quota->granted -= (int64_t)bytes;
    assert(spare(quota) >= 0);
    return true;
}

// Adds the reserved bytes to the grants. Unused bytes return to the budget with the next memory that is given back.
void quota_accept(struct quota *quota, uint64_t bytes) {
    assert(atomic_load_explicit(&quota->budget->quota_bytes, memory_order_relaxed) >= bytes);
    quota->granted += (int64_t)bytes;
}

void quota_settle(struct quota *quota) {
    if (spare(quota))
        quota_add(quota, -spare(quota));
    assert(quota->granted == quota->used);
}

void quota_deinit(struct quota *quota) {
    quota_settle(quota);
}

// --- Memory

void *quota_take_anyway(struct quota *quota, size_t bytes) {
    void *memory = memory_take(bytes);
    use(quota, memory ? (int64_t)memory_bytes(memory) : 0);
    return memory;
}

void *quota_take(struct quota *quota, size_t bytes) {
    return quota_make_room(quota, bytes) ? quota_take_anyway(quota, bytes) : NULL;
}

void *quota_take_zeroed(struct quota *quota, size_t count, size_t bytes) {
    assert(bytes > 0 && count <= SIZE_MAX / bytes);
    void *memory = quota_make_room(quota, count * bytes) ? memory_take_zeroed(count, bytes) : NULL;
    use(quota, memory ? (int64_t)memory_bytes(memory) : 0);
    return memory;
}

void *quota_take_aligned(struct quota *quota, size_t alignment, size_t bytes) {
    assert(bytes > 0);
    void *memory = quota_make_room(quota, bytes) ? memory_take_aligned(alignment, bytes) : NULL;
    use(quota, memory ? (int64_t)memory_bytes(memory) : 0);
    return memory;
}

void *quota_resize(struct quota *quota, void *memory, size_t bytes) {
    assert(bytes > 0);
    size_t before = memory ? memory_bytes(memory) : 0;
    bool has_room = bytes <= before || quota_make_room(quota, memory_bytes_for(bytes) - before);
    void *resized = has_room ? memory_resize(memory, bytes) : NULL;
    use(quota, resized ? (int64_t)memory_bytes(resized) - (int64_t)before : 0);
    return resized;
}

void quota_give(struct quota *quota, void *memory) {
    if (!memory)
        return;
    int64_t bytes = (int64_t)memory_bytes(memory);
    memory_give(memory);
    use(quota, -bytes);
}

// --- Shares

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
