// A latency histogram with log-linear buckets, as HdrHistogram has. Each power of two is cut into the same
// number of equal buckets, so that a recorded value is off by less than 1 in 128 however large it is.
// Recording costs a few instructions.
#pragma once

#include <stdint.h>

enum {
    HISTOGRAM_BITS = 7, // buckets a power of two: 2 to this
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS,
};

struct histogram {
    uint64_t total; // values recorded
    uint64_t max;   // exactly
    uint64_t count[HISTOGRAM_BUCKETS];
};

// Zero bytes are an empty histogram.
void histogram_record(struct histogram *histogram, uint64_t value);
// Returns the value that `share` (0 to 1) of the recorded values do not exceed, up to the width of a bucket:
// never under the true one, and never over the maximum. 0 when nothing was recorded.
uint64_t histogram_at(const struct histogram *histogram, double share);
