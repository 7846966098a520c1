#include "router/engine/shard/stats.h"

#include <assert.h>
#include <string.h>

#define X(name, text, metric, labels, help) [name] = {text, metric, labels, help, STATS_LAST},
static const struct stats_row counters[COUNTERS_COUNT] = {COUNTERS(X)}, gauges[GAUGES_COUNT] = {GAUGES(X)};
#undef X

uint64_t stats_read(const struct stats *stats, unsigned counter) {
    assert(counter < STATS_COUNTERS_MAX);
    return atomic_load_explicit(&stats->values[counter], memory_order_relaxed);
}

uint64_t stats_read_gauge(const struct stats *stats, unsigned gauge) {
    assert(gauge < STATS_GAUGES_MAX);
    return atomic_load_explicit(&stats->gauges[gauge], memory_order_relaxed);
}

const char *stats_name(enum counter counter) {
    assert(counter < COUNTERS_COUNT);
    return counters[counter].name;
}

// --- Lists

static void add(struct stats_list *list, unsigned number, const struct stats_row *row) {
    assert(list->count < sizeof list->entries / sizeof *list->entries);
    list->entries[list->count++] = (struct stats_entry){number, row};
}

// The rows of one kind of a feature, or NULL. The first row has the number `from`.
struct source {
    const struct stats_row *rows;
    unsigned from, order;
};

// Adds the rows of all features that follow this row of the engine. With STATS_LAST, adds the rows that come last.
static void add_features(struct stats_list *list, const struct source sources[FEATURES_MAX], unsigned row) {
    for (unsigned at = 0; at < FEATURES_MAX; at++)
        for (unsigned place = 0; sources[at].rows && sources[at].rows[place].name; place++)
            if (sources[at].rows[place].after == row)
                add(list, sources[at].from + place, &sources[at].rows[place]);
}

// Returns whether one feature's rows come before another's. Features without an order come last.
static bool is_before(const struct source *one, const struct source *other) {
    return one->order && (!other->order || one->order < other->order);
}

static void sort(struct source sources[FEATURES_MAX]) {
    for (unsigned at = 1; at < FEATURES_MAX; at++)
        for (unsigned to = at; to > 0 && is_before(&sources[to], &sources[to - 1]); to--) {
            struct source other = sources[to];
            sources[to] = sources[to - 1];
            sources[to - 1] = other;
        }
}

static void list_rows(struct stats_list *out, const struct stats_row *rows, unsigned count,
                      struct source sources[FEATURES_MAX]) {
    assert(rows && count > 0);
    sort(sources);
    out->count = 0;
    for (unsigned number = 0; number < count; number++) {
        add(out, number, &rows[number]);
        add_features(out, sources, STATS_AFTER(number));
    }
    add_features(out, sources, STATS_LAST);
}

void stats_list_counters(const struct feature *const *features, struct stats_list *out) {
    struct source sources[FEATURES_MAX] = {0};
    for (unsigned number = 0; features && number < FEATURES_MAX; number++)
        if (features[number])
            sources[number] = (struct source){features[number]->counters, FEATURE_COUNTER(number, 0),
                                              features[number]->stats_order};
    list_rows(out, counters, COUNTERS_COUNT, sources);
}

void stats_list_gauges(const struct feature *const *features, struct stats_list *out) {
    struct source sources[FEATURES_MAX] = {0};
    for (unsigned number = 0; features && number < FEATURES_MAX; number++)
        if (features[number])
            sources[number] = (struct source){features[number]->gauges, FEATURE_GAUGE(number, 0),
                                              features[number]->stats_order};
    list_rows(out, gauges, GAUGES_COUNT, sources);
}

bool stats_is_transport(const struct stats_row *row) {
    assert(row && row->metric);
    return strcmp(row->metric, gauges[GAUGE_FRAMED].metric) == 0;
}
