// See load_histogram.h. Values under 2^HISTOGRAM_BITS have a bucket each. Above, a value with its highest bit
// at `exponent` falls into one of 2^HISTOGRAM_BITS buckets that are 2^(exponent - HISTOGRAM_BITS) wide.
// Nothing can fail: every 64-bit value has a bucket.
#include "bench/load/load_histogram.h"

enum { BUCKETS_A_POWER = 1 << HISTOGRAM_BITS };

static uint32_t bucket_of(uint64_t value) {
    if (value < BUCKETS_A_POWER) {
        return (uint32_t)value;
    }
    uint32_t shift = 63 - (uint32_t)__builtin_clzll(value) - HISTOGRAM_BITS;
    return (shift << HISTOGRAM_BITS) + (uint32_t)(value >> shift);
}

// The largest value that falls into the bucket.
static uint64_t bucket_top(uint32_t bucket) {
    if (bucket < BUCKETS_A_POWER) {
        return bucket;
    }
    uint32_t shift = (bucket >> HISTOGRAM_BITS) - 1;
    uint64_t low = ((uint64_t)(bucket & (BUCKETS_A_POWER - 1)) | BUCKETS_A_POWER) << shift;
    return low + ((1ULL << shift) - 1);
}

void histogram_record(struct histogram *histogram, uint64_t value) {
    histogram->count[bucket_of(value)]++;
    histogram->total++;
    if (value > histogram->max) {
        histogram->max = value;
    }
}

uint64_t histogram_at(const struct histogram *histogram, double share) {
    double exact = share * (double)histogram->total;
    uint64_t wanted = (uint64_t)exact;
    wanted += (double)wanted < exact; // round up: at least this many values lie at or under the answer
    uint64_t seen = 0;
    for (uint32_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += histogram->count[bucket];
        if (seen >= wanted && seen > 0) {
            uint64_t top = bucket_top(bucket);
            return top < histogram->max ? top : histogram->max;
        }
    }
    return 0;
}
