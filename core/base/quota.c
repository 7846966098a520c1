#include "core/base/quota.h"

#include <assert.h>

#include "core/base/memory.h"

void quota_init(struct quota *kept, struct buffer_budget *budget) {
    assert(budget);
    *kept = (struct quota){.budget = budget, .little_bytes = QUOTA_LITTLE_BYTES_MIN};
}

void quota_init_beside(struct quota *kept, struct buffer_budget *budget) {
    quota_init(kept, budget);
    kept->beside = true;
}

uint64_t quota_bytes_max(const struct quota *kept) {
    return atomic_load_explicit(&kept->budget->bytes_max, memory_order_relaxed) / 4;
}

uint64_t quota_bytes_left(const struct quota *kept) {
    uint64_t max = quota_bytes_max(kept);
    uint64_t bytes = atomic_load_explicit(&kept->budget->kept, memory_order_relaxed);
    return bytes < max ? max - bytes : 0;
}

// --- Grants

static void quota_add(struct quota *kept, int64_t bytes) {
    assert(bytes >= 0 || kept->beside ||
           atomic_load_explicit(&kept->budget->kept, memory_order_relaxed) >= (uint64_t)-bytes);
    kept->granted += bytes;
    if (!kept->beside)
        atomic_fetch_add_explicit(&kept->budget->kept, (uint64_t)bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&kept->budget->bytes, (uint64_t)bytes, memory_order_relaxed);
}

// Where memory as a whole has no room, memory is won back from the holder of most of it (buffer.h).
static bool draw(struct quota *kept, uint64_t bytes) {
    assert(bytes > 0 && bytes <= INT64_MAX);
    struct buffer_budget *budget = kept->budget;
    if (kept->beside) {
        quota_add(kept, (int64_t)bytes);
        return true;
    }
    uint64_t all_max = atomic_load_explicit(&budget->bytes_max, memory_order_relaxed);
    uint64_t before = atomic_fetch_add_explicit(&budget->kept, bytes, memory_order_relaxed);
    uint64_t all_before = atomic_fetch_add_explicit(&budget->bytes, bytes, memory_order_relaxed);
    kept->granted += (int64_t)bytes;
    bool fits = before + bytes <= quota_bytes_max(kept), all_fits = all_before + bytes <= all_max;
    if (!fits || !all_fits)
        quota_add(kept, -(int64_t)bytes);
    if (fits && !all_fits)
        atomic_fetch_add_explicit(&budget->refused, 1, memory_order_relaxed);
    return fits && all_fits;
}

static int64_t spare(const struct quota *kept) {
    return kept->granted - kept->used;
}

// Near the bound only what is wanted.
static bool draw_for(struct quota *kept, size_t bytes) {
    assert(spare(kept) >= 0);
    int64_t lack = kept->used + (int64_t)memory_bytes_for(bytes) - kept->granted;
    if (lack <= 0 || draw(kept, (uint64_t)lack + QUOTA_GRANT_BYTES) || draw(kept, (uint64_t)lack))
        return true;
    kept->refused++;
    return false;
}

// The allocator, which may take more than it is asked for, is asked how much when that could matter.
static inline bool quota_make_room(struct quota *kept, size_t bytes) {
    assert(bytes <= INT64_MAX / 2 - 64);
    return spare(kept) >= (int64_t)(2 * bytes) + 64 || draw_for(kept, bytes);
}

// One grant stays, so that what goes to and fro doesn't reach the hub's account.
static void use(struct quota *kept, int64_t bytes) {
    kept->used += bytes;
    if (kept->used > kept->granted)
        quota_add(kept, kept->used - kept->granted);
    if (spare(kept) > 2 * QUOTA_GRANT_BYTES)
        quota_add(kept, QUOTA_GRANT_BYTES - spare(kept));
    assert(spare(kept) >= 0 && spare(kept) <= 2 * QUOTA_GRANT_BYTES);
}

bool quota_set_aside(struct quota *kept, uint64_t bytes) {
    if (bytes && !draw(kept, bytes))
        return false;
    kept->granted -= (int64_t)bytes;
    assert(spare(kept) >= 0);
    return true;
}

// Unused units go on to the hub's account with the next ones that are given back.
void quota_accept(struct quota *kept, uint64_t bytes) {
    assert(atomic_load_explicit(&kept->budget->kept, memory_order_relaxed) >= bytes);
    kept->granted += (int64_t)bytes;
}

void quota_settle(struct quota *kept) {
    if (spare(kept))
        quota_add(kept, -spare(kept));
    assert(kept->granted == kept->used);
}

void quota_deinit(struct quota *kept) {
    quota_settle(kept);
}

// --- Memory

void *quota_take_anyway(struct quota *kept, size_t bytes) {
    void *memory = memory_take(bytes);
    use(kept, memory ? (int64_t)memory_bytes(memory) : 0);
    return memory;
}

void *quota_take(struct quota *kept, size_t bytes) {
    return quota_make_room(kept, bytes) ? quota_take_anyway(kept, bytes) : NULL;
}

void *quota_take_zeroed(struct quota *kept, size_t count, size_t bytes) {
    assert(bytes > 0 && count <= SIZE_MAX / bytes);
    void *memory = quota_make_room(kept, count * bytes) ? memory_take_zeroed(count, bytes) : NULL;
    use(kept, memory ? (int64_t)memory_bytes(memory) : 0);
    return memory;
}

void *quota_resize(struct quota *kept, void *memory, size_t bytes) {
    assert(bytes > 0);
    size_t before = memory ? memory_bytes(memory) : 0;
    bool has_room = bytes <= before || quota_make_room(kept, memory_bytes_for(bytes) - before);
    void *resized = has_room ? memory_resize(memory, bytes) : NULL;
    use(kept, resized ? (int64_t)memory_bytes(resized) - (int64_t)before : 0);
    return resized;
}

void quota_give(struct quota *kept, void *memory) {
    if (!memory)
        return;
    int64_t bytes = (int64_t)memory_bytes(memory);
    memory_give(memory);
    use(kept, -bytes);
}
