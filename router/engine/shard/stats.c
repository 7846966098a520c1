#include "router/engine/shard/stats.h"

#include <assert.h>

#define X(name, text, metric, labels, help) [name] = {text, metric, labels, help},
static const struct stats_row counters[COUNTERS_COUNT] = {COUNTERS(X)}, gauges[GAUGES_COUNT] = {GAUGES(X)};
#undef X

uint64_t stats_read(const struct stats *stats, enum counter counter) {
    assert(counter < COUNTERS_COUNT);
    return atomic_load_explicit(&stats->values[counter], memory_order_relaxed);
}

uint64_t stats_read_gauge(const struct stats *stats, enum gauge gauge) {
    assert(gauge < GAUGES_COUNT);
    return atomic_load_explicit(&stats->gauges[gauge], memory_order_relaxed);
}

const struct stats_row *stats_row(enum counter counter) {
    assert(counter < COUNTERS_COUNT);
    return &counters[counter];
}

const struct stats_row *stats_gauge_row(enum gauge gauge) {
    assert(gauge < GAUGES_COUNT);
    return &gauges[gauge];
}

const char *stats_name(enum counter counter) {
    return stats_row(counter)->name;
}

uint64_t stats_read_feature(const struct stats *stats, unsigned feature, unsigned counter) {
    assert(feature < FEATURES_MAX && counter < FEATURE_COUNTERS_MAX);
    return atomic_load_explicit(&stats->features[feature][counter], memory_order_relaxed);
}
