#include "router/methods/metrics.h"

#include <assert.h>
#include <string.h>

#include "io/log.h"
#include "router/engine/shard/stats.h"
#include "router/engine/shard/survey_scan.h"

enum { BUCKETS_SHOWN = 28 }; // up to 67 s, or 64 MiB; larger values are in the bucket +Inf

// --- Lines

static void put_family(struct text *out, const char *metric, const char *type, const char *help) {
    assert(metric && type && help);
    text_put(out, "# HELP patchbay_");
    text_put(out, metric);
    text_put(out, " ");
    text_put(out, help);
    text_put(out, "\n# TYPE patchbay_");
    text_put(out, metric);
    text_put(out, " ");
    text_put(out, type);
    text_put(out, "\n");
}

enum { NO_SHARD = -1 };

// Puts the text before the value. `suffix` and `labels` may be NULL.
static void put_name(struct text *out, const char *metric, const char *suffix, int shard,
                     const char *labels) {
    assert(shard >= NO_SHARD && shard < SHARDS_MAX);
    text_put(out, "patchbay_");
    text_put(out, metric);
    text_put(out, suffix ? suffix : "");
    if (shard != NO_SHARD) {
        text_put(out, "{shard=\"");
        text_number(out, shard);
        text_put(out, labels ? "\"," : "\"");
    } else if (labels) {
        text_put(out, "{");
    }
    text_put(out, labels ? labels : "");
    text_put(out, shard != NO_SHARD || labels ? "} " : " ");
}

static void put_count(struct text *out, uint64_t value) {
    char digits[20];
    text_add(out, digits, text_digits(digits, value));
}

static void put_value(struct text *out, uint64_t value) {
    put_count(out, value);
    text_put(out, "\n");
}

// Microseconds as seconds.
static void put_seconds(struct text *out, uint64_t us) {
    char digits[20];
    size_t count = text_digits(digits, 1000000 + us % 1000000);
    assert(count == 7);
    put_count(out, us / 1000000);
    text_put(out, ".");
    text_add(out, digits + 1, count - 1);
}

// --- The tables

// Rows of one metric follow each other, and the first one says what it counts.
static void put_rows(struct shard *shard, struct text *out, const char *type, const struct stats_list *list,
                     uint64_t (*read)(const struct stats *, unsigned)) {
    for (unsigned at = 0; at < list->count; at++) {
        const struct stats_row *row = list->entries[at].row;
        assert(row->help || (at > 0 && strcmp(row->metric, list->entries[at - 1].row->metric) == 0));
        if (row->help)
            put_family(out, row->metric, type, row->help);
        for (uint32_t other = 0; other < shard->hub->start_settings.shard_count; other++) {
            put_name(out, row->metric, NULL, (int)other, row->labels);
            put_value(out, read(&shard->hub->shards[other]->stats, list->entries[at].number));
        }
    }
}

static void put_tables(struct shard *shard, struct text *out) {
    struct stats_list list;
    stats_list_counters(shard->hub->start_settings.features, &list);
    put_rows(shard, out, "counter", &list, stats_read);
    stats_list_gauges(shard->hub->start_settings.features, &list);
    put_rows(shard, out, "gauge", &list, stats_read_gauge);
}

// --- Histograms

static void put_bucket(struct text *out, const char *metric, int shard, uint64_t bound,
                       void (*put_unit)(struct text *, uint64_t), uint64_t count) {
    assert(shard >= 0);
    text_put(out, "patchbay_");
    text_put(out, metric);
    text_put(out, "_bucket{shard=\"");
    text_number(out, shard);
    text_put(out, "\",le=\"");
    if (bound)
        put_unit(out, bound);
    else
        text_put(out, "+Inf");
    text_put(out, "\"} ");
    put_value(out, count);
}

// Writes a histogram, cumulative as the format requires. Bucket n counts values below 2^n.
static void put_histogram(struct text *out, const char *metric, int shard,
                          const struct log_histogram *histogram, void (*put_unit)(struct text *, uint64_t)) {
    struct log_histogram_view view = {0};
    log_histogram_read(histogram, &view);
    uint64_t seen = 0;
    assert(shard >= 0);
    for (unsigned bucket = 0; bucket < BUCKETS_SHOWN; bucket++) {
        seen += view.buckets[bucket];
        put_bucket(out, metric, shard, UINT64_C(1) << bucket, put_unit, seen);
    }
    put_bucket(out, metric, shard, 0, put_unit, view.count);
    put_name(out, metric, "_sum", shard, NULL);
    put_unit(out, view.sum);
    text_put(out, "\n");
    put_name(out, metric, "_count", shard, NULL);
    put_value(out, view.count);
}

static void put_histograms(struct shard *shard, struct text *out) {
    const struct hub *hub = shard->hub;
    uint32_t count = hub->start_settings.shard_count;
    assert(count > 0);
    put_family(out, "latency_seconds", "histogram",
               "From the turn that took a frame in to its hand-over to the kernel; frames of one send count "
               "as its first one.");
    for (uint32_t index = 0; index < count; index++)
        put_histogram(out, "latency_seconds", (int)index, &hub->shards[index]->stats.latency, put_seconds);
    put_family(out, "queue_depth_bytes", "histogram", "Bytes that waited for a peer when a send was begun.");
    for (uint32_t index = 0; index < count; index++)
        put_histogram(out, "queue_depth_bytes", (int)index, &hub->shards[index]->stats.depth, put_count);
}

// --- Metrics of no table

static void put_one(struct text *out, const char *metric, const char *help, uint64_t value) {
    put_family(out, metric, "gauge", help);
    put_name(out, metric, NULL, NO_SHARD, NULL);
    put_value(out, value);
}

static void put_shards(struct shard *shard, struct text *out) {
    const struct hub *hub = shard->hub;
    uint32_t count = hub->start_settings.shard_count;
    assert(count > 0);
    put_family(out, "cpu_seconds_total", "counter",
               "Processor time of the shard's thread, as last looked at.");
    for (uint32_t index = 0; index < count; index++) {
        put_name(out, "cpu_seconds_total", NULL, (int)index, NULL);
        put_seconds(out,
                    atomic_load_explicit(&hub->shards[index]->stats.cpu_ns, memory_order_relaxed) / 1000);
        text_put(out, "\n");
    }
    put_family(out, "subscriptions", "gauge", "Entries in the tables of subscriptions.");
    for (uint32_t index = 0; index < count; index++) {
        put_name(out, "subscriptions", NULL, (int)index, NULL);
        put_value(out, atomic_load_explicit(&hub->subscriptions[index], memory_order_relaxed));
    }
}

static void put_hub(struct shard *shard, struct text *out) {
    const struct hub *hub = shard->hub;
    const struct limits *limits = shard_limits(shard);
    uint64_t uptime_ms = shard_now_ms(shard) - hub->began_ms;
    put_family(out, "build_info", "gauge", "1; the labels say what runs.");
    text_put(out, "patchbay_build_info{version=\"" PATCHBAY_VERSION "\",io=\"");
    text_put(out, io_name(shard->io));
    text_put(out, "\"} 1\n");
    put_family(out, "uptime_seconds", "gauge", "Since the hub was started.");
    put_name(out, "uptime_seconds", NULL, NO_SHARD, NULL);
    put_seconds(out, uptime_ms * 1000);
    text_put(out, "\n");
    put_one(out, "draining", "1 while the hub ends, else 0.", hub_phase(hub) != HUB_SERVING);
    put_one(out, "agents", "Registered agents.", shard->agents.count);
    put_one(out, "memory_bytes", "Memory that counts against the bound.",
            atomic_load_explicit(&hub->budget.bytes, memory_order_relaxed));
    put_one(out, "memory_kept_bytes", "Of it, what registrations, subscriptions and requests take.",
            atomic_load_explicit(&hub->budget.quota_bytes, memory_order_relaxed));
    put_one(out, "memory_limit_bytes", "The bound of memory (--max-memory).", limits->memory_bytes_max);
    put_one(out, "connections_limit", "The bound of connections (--max-connections).",
            limits->connections_max);
    put_one(out, "receive_buffers_lent", "Receive buffers that each shard lends to the kernel.",
            shard_buffers_provided(shard));
    put_family(out, "log_lines_lost_total", "counter",
               "Lines of the log that weren't written: no room, or a fault.");
    put_name(out, "log_lines_lost_total", NULL, NO_SHARD, NULL);
    put_value(out, log_lines_lost());
    assert(uptime_ms < UINT64_MAX / 1000);
}

void metrics_write(struct shard *shard, struct text *out) {
    assert(shard->hub->shards[shard->index] == shard);
    survey_request(shard);
    put_hub(shard, out);
    put_tables(shard, out);
    put_shards(shard, out);
    put_histograms(shard, out);
}
