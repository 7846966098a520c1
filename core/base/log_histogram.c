#include "core/base/log_histogram.h"

#include <assert.h>

void log_histogram_read(const struct log_histogram *histogram, struct log_histogram_view *view) {
    view->sum += atomic_load_explicit(&histogram->sum, memory_order_relaxed);
    for (unsigned bucket = 0; bucket < LOG_HISTOGRAM_BUCKETS; bucket++) {
        uint64_t count = atomic_load_explicit(&histogram->buckets[bucket], memory_order_relaxed);
        view->buckets[bucket] += count;
        view->count += count;
    }
}

uint64_t log_histogram_quantile(const struct log_histogram_view *view, double share) {
    assert(share >= 0 && share <= 1);
    double wanted = share * (double)view->count;
    uint64_t seen = 0;
    for (unsigned bucket = 0; bucket < LOG_HISTOGRAM_BUCKETS && view->count > 0; bucket++) {
        seen += view->buckets[bucket];
        if (seen > 0 && (double)seen >= wanted)
            return bucket == 0 ? 0 : UINT64_C(1) << bucket;
    }
    return 0;
}
