#include "core/agents/latency.h"

#include <assert.h>

struct latency *latency_create(struct quota *quota, uint32_t shards) {
    assert(shards > 0);
    struct latency *latency = quota_take_zeroed(quota, 1, sizeof *latency + shards * sizeof latency->rows[0]);
    if (!latency)
        return NULL;
    atomic_init(&latency->references, 1);
    latency->shards = shards;
    return latency;
}

struct latency *latency_hold(struct latency *latency) {
    assert(atomic_load_explicit(&latency->references, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&latency->references, 1, memory_order_relaxed);
    return latency;
}

void latency_drop(struct quota *quota, struct latency *latency) {
    assert(!latency || atomic_load_explicit(&latency->references, memory_order_relaxed) > 0);
    if (!latency || atomic_fetch_sub_explicit(&latency->references, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t shard = 0; shard < latency->shards; shard++)
        quota_give(quota, atomic_load_explicit(&latency->rows[shard], memory_order_relaxed));
    quota_give(quota, latency);
}

void latency_leave(struct quota *quota, struct latency *latency, uint32_t shard) {
    if (!latency)
        return;
    assert(shard < latency->shards);
    struct latency_row *row = atomic_load_explicit(&latency->rows[shard], memory_order_relaxed);
    if (row && row->requests > 0)
        row->is_left = true;
    else
        latency_drop(quota, latency);
}

static __attribute__((noinline)) struct latency_row *add_row(struct quota *quota, struct latency *latency,
                                                             uint32_t shard) {
    struct latency_row *row = quota_take_zeroed(quota, 1, sizeof *row);
    assert(!atomic_load_explicit(&latency->rows[shard], memory_order_relaxed));
    if (!row)
        return NULL;
    row->latency = latency;
    atomic_store_explicit(&latency->rows[shard], row, memory_order_release);
    return row;
}

struct latency_row *latency_begin(struct quota *quota, struct latency *latency, uint32_t shard) {
    if (!latency)
        return NULL;
    assert(shard < latency->shards);
    struct latency_row *row = atomic_load_explicit(&latency->rows[shard], memory_order_relaxed);
    if (__builtin_expect(!row, false))
        row = add_row(quota, latency, shard);
    if (row)
        row->requests++;
    return row;
}

// Returns the bucket of a latency. An octave has two buckets: from its begin, and from 1.5 times its begin.
static unsigned bucket_of(uint64_t us) {
    if (us < 2)
        return 0;
    unsigned octave = 63 - (unsigned)__builtin_clzll(us);
    assert(octave > 0);
    unsigned bucket = 2 * octave + (unsigned)(us >> (octave - 1) & 1);
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

// Empties the window for a new minute. The old counts are older than a minute. Each count is stored with release, here
// and in raise(). A reader that sees a count of the new window therefore sees that the window began, too.
static __attribute__((noinline)) void begin_window(struct latency_window *window, uint32_t minute) {
    atomic_store_explicit(&window->minute, 0, memory_order_relaxed);
    atomic_store_explicit(&window->errors, 0, memory_order_release);
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
        atomic_store_explicit(&window->buckets[bucket], 0, memory_order_release);
    atomic_store_explicit(&window->minute, minute, memory_order_release);
}

// Adds 1. There is one writer, so no locked instruction is needed.
static void raise(_Atomic uint32_t *count) {
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + 1, memory_order_release);
}

void latency_record(struct latency_row *row, uint32_t minute, uint64_t us, bool is_error) {
    struct latency_window *window = &row->windows[minute % 2];
    assert(minute > 0);
    if (__builtin_expect(atomic_load_explicit(&window->minute, memory_order_relaxed) != minute, false))
        begin_window(window, minute);
    raise(&window->buckets[bucket_of(us)]);
    if (is_error)
        raise(&window->errors);
}

void latency_end(struct quota *quota, struct latency_row *row) {
    if (!row)
        return;
    assert(row->requests > 0);
    row->requests--;
    if (__builtin_expect(row->is_left && row->requests == 0, false))
        latency_drop(quota, row->latency);
}

// Adds a window's counts to `view`. Skips a window that the writer empties meanwhile.
static void read_window(const struct latency_window *window, uint32_t minute, struct latency_view *view) {
    assert(minute > 0);
    uint32_t buckets[LATENCY_BUCKETS], of = atomic_load_explicit(&window->minute, memory_order_acquire);
    if (of == 0 || (of != minute && of + 1 != minute))
        return;
    uint32_t errors = atomic_load_explicit(&window->errors, memory_order_acquire);
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
        buckets[bucket] = atomic_load_explicit(&window->buckets[bucket], memory_order_acquire);
    if (atomic_load_explicit(&window->minute, memory_order_relaxed) != of)
        return;
    view->errors += errors;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        view->buckets[bucket] += buckets[bucket];
        view->count += buckets[bucket];
    }
}

void latency_read(const struct latency *latency, uint32_t minute, struct latency_view *view) {
    *view = (struct latency_view){0};
    for (uint32_t shard = 0; shard < latency->shards; shard++) {
        const struct latency_row *row = atomic_load_explicit(&latency->rows[shard], memory_order_acquire);
        for (unsigned window = 0; row && window < 2; window++)
            read_window(&row->windows[window], minute, view);
    }
}

// Returns the middle of a bucket in µs. The relative error of the harmonic mean is the same at both bounds.
static double middle_of(unsigned bucket) {
    double octave = (double)(UINT64_C(1) << bucket / 2);
    double low = bucket % 2 ? 1.5 * octave : octave, high = bucket % 2 ? 2 * octave : 1.5 * octave;
    return bucket < 2 ? octave : 2 * low * high / (low + high);
}

double latency_quantile(const struct latency_view *view, double share) {
    double wanted = share * (double)view->count;
    uint64_t seen = 0;
    assert(view->count > 0 && share >= 0 && share <= 1);
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        seen += view->buckets[bucket];
        if (seen > 0 && (double)seen >= wanted)
            return middle_of(bucket);
    }
    return middle_of(LATENCY_BUCKETS - 1);
}
