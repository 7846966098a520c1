// A histogram with a bucket for each power of two: a value is known within a factor of two. Recording costs an addition
// to two words, so a histogram can always be on. One thread records, and any thread may read meanwhile.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// Bucket 0 has the value 0, bucket n has 2^(n-1) to 2^n - 1, and the last bucket also all larger values.
enum { LOG_HISTOGRAM_BUCKETS = 32 };

struct log_histogram {
    _Atomic uint64_t sum; // of all values
    _Atomic uint64_t buckets[LOG_HISTOGRAM_BUCKETS];
};

// The counts of one histogram, or of several added up.
struct log_histogram_view {
    uint64_t sum;
    uint64_t count;
    uint64_t buckets[LOG_HISTOGRAM_BUCKETS];
};

static inline unsigned log_histogram_bucket(uint64_t value) {
    unsigned bits = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    return bits < LOG_HISTOGRAM_BUCKETS ? bits : LOG_HISTOGRAM_BUCKETS - 1;
}
static inline void log_histogram_raise(_Atomic uint64_t *word, uint64_t by) {
    atomic_store_explicit(word, atomic_load_explicit(word, memory_order_relaxed) + by, memory_order_relaxed);
}
// Records a value `times` times.
static inline void log_histogram_record(struct log_histogram *histogram, uint64_t value, uint64_t times) {
    log_histogram_raise(&histogram->sum, value * times);
    log_histogram_raise(&histogram->buckets[log_histogram_bucket(value)], times);
}

// Adds the histogram's counts to the view.
void log_histogram_read(const struct log_histogram *histogram, struct log_histogram_view *view);
// Returns the least power of two above the given quantile, where `share` is 0 to 1. Returns 0 if the quantile is 0 or
// there are no values.
uint64_t log_histogram_quantile(const struct log_histogram_view *view, double share);
