#include "router/shard/stats.h"

#include <assert.h>

static const char *const names[COUNTERS_COUNT] = {
#define X(name, text) [name] = (text),
    COUNTERS(X)
#undef X
};

uint64_t stats_read(const struct stats *stats, enum counter counter) {
    assert(counter < COUNTERS_COUNT);
    return atomic_load_explicit(&stats->values[counter], memory_order_relaxed);
}

const char *stats_name(enum counter counter) {
    assert(counter < COUNTERS_COUNT);
    return names[counter];
}
