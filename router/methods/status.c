#include "router/methods/status.h"

#include <assert.h>

#include "core/hcs/hcs_flow.h"
#include "io/log.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/stats.h"
#include "router/engine/shard/survey_scan.h"
#include "router/rights/authz.h"

// A member of an object, but for the first one.
static void put_key(struct text *out, const char *name) {
    text_put(out, ",\"");
    text_put(out, name);
    text_put(out, "\":");
}

static void put_number(struct text *out, const char *name, uint64_t number) {
    put_key(out, name);
    text_number(out, (int64_t)number);
}

// The sum over all shards.
static uint64_t sum(const struct hub *hub, uint64_t (*read)(const struct stats *, unsigned),
                    unsigned number) {
    uint64_t all = 0;
    for (uint32_t index = 0; index < hub->start_settings.shard_count; index++)
        all += read(&hub->shards[index]->stats, number);
    return all;
}

// --- The hub

static void put_counters(const struct hub *hub, struct text *out) {
    struct stats_list list;
    stats_list_counters(hub->start_settings.features, &list);
    for (unsigned at = 0; at < list.count; at++)
        put_number(out, list.entries[at].row->name, sum(hub, stats_read, list.entries[at].number));
}

static void put_hub(struct shard *shard, struct text *out, const struct stats_list *gauges) {
    static const char *const phases[] = {[HUB_SERVING] = "serving",
                                         [HUB_DRAINING] = "draining",
                                         [HUB_CLOSING] = "closing",
                                         [HUB_STOPPED] = "closing"};
    struct hub *hub = shard->hub;
    uint64_t quota_bytes = atomic_load_explicit(&hub->budget.quota_bytes, memory_order_relaxed);
    uint64_t held_bytes = atomic_load_explicit(&hub->budget.bytes, memory_order_relaxed);
    assert(shard_now_ms(shard) >= hub->began_ms);
    text_put(out, "{\"version\":\"" PATCHBAY_VERSION "\",\"io\":\"");
    text_put(out, io_name(shard->io));
    text_put(out, "\",\"phase\":\"");
    text_put(out, phases[hub_phase(hub)]);
    text_put(out, "\"");
    put_number(out, "pid", hub->start_settings.process);
    put_number(out, "uptime_ms", shard_now_ms(shard) - hub->began_ms);
    put_number(out, "shards", hub->start_settings.shard_count);
    put_number(out, "connections", hub_connection_count(hub));
    put_number(out, "connections_max", shard_limits(shard)->connections_max);
    put_number(out, "agents", shard->agents.count);
    put_number(out, "buffer_bytes", held_bytes > quota_bytes ? held_bytes - quota_bytes : 0);
    put_number(out, "kept_bytes", quota_bytes);
    put_number(out, "memory_bytes_max", shard_limits(shard)->memory_bytes_max);
    put_number(out, "queue_bytes_max", shard_limits(shard)->queue_bytes_max);
    put_number(out, "log_lines_lost", log_lines_lost());
    for (unsigned at = 0; at < gauges->count; at++)
        if (!stats_is_transport(gauges->entries[at].row))
            put_number(out, gauges->entries[at].row->name,
                       sum(hub, stats_read_gauge, gauges->entries[at].number));
    put_counters(hub, out);
}

static void put_transports(const struct hub *hub, struct text *out, const struct stats_list *gauges) {
    const char *between = "";
    put_key(out, "by_transport");
    text_put(out, "{");
    for (unsigned at = 0; at < gauges->count; at++) {
        if (!stats_is_transport(gauges->entries[at].row))
            continue;
        text_put(out, between);
        text_put(out, "\"");
        text_put(out, gauges->entries[at].row->name);
        text_put(out, "\":");
        text_number(out, (int64_t)sum(hub, stats_read_gauge, gauges->entries[at].number));
        between = ",";
    }
    assert(*between);
    text_put(out, "}");
}

static void put_sandbox(const struct hub *hub, struct text *out) {
    static const char *const modes[] = {
        [SANDBOX_OFF] = "off", [SANDBOX_ON] = "on", [SANDBOX_REQUIRED] = "required"};
    static const char *const names[] = {[SANDBOX_LAYER_PRIVILEGES] = "privileges",
                                        [SANDBOX_LAYER_FILES] = "files",
                                        [SANDBOX_LAYER_CALLS] = "calls",
                                        [SANDBOX_LAYER_RING] = "ring"};
    static const char *const states[] = {[SANDBOX_LAYER_OFF] = "off",
                                         [SANDBOX_LAYER_UP] = "up",
                                         [SANDBOX_LAYER_MISSING] = "missing",
                                         [SANDBOX_LAYER_UNUSED] = "unused"};
    const struct hub_sandbox *sandbox = &hub->start_settings.sandbox;
    put_key(out, "sandbox");
    text_put(out, "{\"mode\":\"");
    text_put(out, modes[sandbox->mode]);
    text_put(out, "\"");
    for (enum sandbox_layer layer = 0; layer < SANDBOX_LAYER_COUNT; layer++) {
        put_key(out, names[layer]);
        text_put(out, "\"");
        text_put(out, states[sandbox->layers[layer]]);
        text_put(out, "\"");
    }
    text_put(out, "}");
}

// --- Histograms

// Two histograms give by their buckets' difference what was between.
static void put_histogram(struct text *out, const char *name, const struct log_histogram_view *view) {
    static const struct {
        const char *name;
        double share;
    } quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}};
    put_key(out, name);
    text_put(out, "{\"count\":");
    text_number(out, (int64_t)view->count);
    put_number(out, "sum", view->sum);
    for (unsigned index = 0; index < sizeof quantiles / sizeof *quantiles; index++)
        put_number(out, quantiles[index].name, log_histogram_quantile(view, quantiles[index].share));
    put_key(out, "buckets");
    unsigned last = LOG_HISTOGRAM_BUCKETS;
    while (last > 0 && view->buckets[last - 1] == 0)
        last--;
    for (unsigned bucket = 0; bucket < last; bucket++) {
        text_put(out, bucket ? "," : "[");
        text_number(out, (int64_t)view->buckets[bucket]);
    }
    assert(last <= LOG_HISTOGRAM_BUCKETS);
    text_put(out, last ? "]}" : "[]}");
}

static void put_histograms(const struct hub *hub, struct text *out) {
    struct log_histogram_view latency = {0}, depth = {0};
    assert(hub->start_settings.shard_count > 0);
    for (uint32_t index = 0; index < hub->start_settings.shard_count; index++) {
        log_histogram_read(&hub->shards[index]->stats.latency, &latency);
        log_histogram_read(&hub->shards[index]->stats.depth, &depth);
    }
    put_histogram(out, "latency_us", &latency);
    put_histogram(out, "queue_depth_bytes", &depth);
}

// --- Shards side by side

static void put_shard(const struct hub *hub, struct text *out, const struct stats_list *gauges,
                      uint32_t index) {
    static const enum counter counters[] = {COUNT_FRAMES_RECEIVED, COUNT_BYTES_RECEIVED,
                                            COUNT_BYTES_SENT,      COUNT_SENDS,
                                            COUNT_TURNS,           COUNT_KERNEL_ENTRIES};
    const struct stats *stats = &hub->shards[index]->stats;
    struct log_histogram_view latency = {0};
    log_histogram_read(&stats->latency, &latency);
    assert(index < hub->start_settings.shard_count);
    text_put(out, "{\"connections\":");
    text_number(out, atomic_load_explicit(&hub->connections[index], memory_order_relaxed));
    put_number(out, "subscriptions", atomic_load_explicit(&hub->subscriptions[index], memory_order_relaxed));
    put_number(out, "cpu_us", atomic_load_explicit(&stats->cpu_ns, memory_order_relaxed) / 1000);
    put_number(out, "cpu_permille", atomic_load_explicit(&stats->cpu_permille, memory_order_relaxed));
    put_number(out, "latency_us_p99", log_histogram_quantile(&latency, 0.99));
    for (unsigned at = 0; at < gauges->count; at++)
        if (!stats_is_transport(gauges->entries[at].row))
            put_number(out, gauges->entries[at].row->name,
                       stats_read_gauge(stats, gauges->entries[at].number));
    for (unsigned at = 0; at < sizeof counters / sizeof *counters; at++)
        put_number(out, stats_name(counters[at]), stats_read(stats, counters[at]));
    text_put(out, "}");
}

static void put_shards(const struct hub *hub, struct text *out, const struct stats_list *gauges) {
    put_key(out, "per_shard");
    assert(hub->start_settings.shard_count > 0);
    for (uint32_t index = 0; index < hub->start_settings.shard_count; index++) {
        text_put(out, index ? "," : "[");
        put_shard(hub, out, gauges, index);
    }
    text_put(out, "]");
}

// --- Findings of the shards' surveys

// A connection may have gone since, or have no agent.
static void put_agents(struct shard *shard, struct text *out, uint64_t connection) {
    enum { SHOWN_MAX = 3 };
    const struct registrant *registrant = agents_registrant(&shard->agents, connection);
    unsigned shown = 0;
    text_put(out, "{\"agents\":[");
    for (const struct list *node = registrant ? registrant->agents.next : NULL;
         registrant && node != &registrant->agents && shown < SHOWN_MAX; node = node->next, shown++) {
        const struct agent *agent = list_entry(node, struct agent, by_registrant);
        text_put(out, shown ? "," : "");
        text_string(out, agent->id, agent->id_bytes);
    }
    assert(shown <= SHOWN_MAX);
    text_put(out, "]");
}

static void put_list(struct shard *shard, struct text *out, const char *name, const struct survey_list *list,
                     const char *value, const char *count) {
    assert(list->count <= SURVEY_ROWS_MAX);
    put_key(out, name);
    text_put(out, "[");
    for (unsigned at = 0; at < list->count; at++) {
        const struct survey_row *row = &list->rows[at];
        text_put(out, at ? "," : "");
        put_agents(shard, out, row->connection);
        put_number(out, "shard", connection_shard(row->connection));
        put_number(out, value, row->value);
        put_number(out, count, row->count);
        text_put(out, "}");
    }
    text_put(out, "]");
}

// Several shards may have asked the same target: the one that waits longest counts.
static void merge_slowest(struct survey_list *into, const struct survey_list *from) {
    for (unsigned at = 0; at < from->count; at++) {
        unsigned known = 0;
        while (known < into->count && into->rows[known].connection != from->rows[at].connection)
            known++;
        if (known < into->count && into->rows[known].value >= from->rows[at].value)
            continue;
        if (known < into->count) {
            into->count--;
            for (; known < into->count; known++)
                into->rows[known] = into->rows[known + 1];
        }
        survey_rank(into, from->rows[at]);
    }
    assert(into->count <= SURVEY_ROWS_MAX);
}

static void put_sessions(struct shard *shard, struct text *out, const struct survey_sessions *list) {
    static const char *const flow_states[] = {
        [HCS_FLOW_READS] = "reading", [HCS_FLOW_OVER] = "overwhelmed", [HCS_FLOW_GONE] = "alone"};
    assert(list->count <= SURVEY_ROWS_MAX);
    put_key(out, "sessions");
    text_put(out, "[");
    for (unsigned at = 0; at < list->count; at++) {
        const struct survey_session *row = &list->rows[at];
        text_put(out, at ? "," : "");
        put_agents(shard, out, row->producer);
        text_put(out, ",\"state\":\"");
        text_put(out, flow_states[row->flow_state]);
        text_put(out, "\"");
        put_number(out, "clients", row->clients);
        put_number(out, "over", row->over);
        put_number(out, "stuck", row->stuck);
        put_number(out, "seq", row->seq);
        put_number(out, "history_bytes", row->history_bytes);
        text_put(out, "}");
    }
    text_put(out, "]");
}

static void put_surveys(struct shard *shard, struct text *out) {
    const struct hub *hub = shard->hub;
    struct survey_list deepest = {0}, slowest = {0};
    struct survey_sessions sessions = {0};
    uint64_t oldest_ms = UINT64_MAX;
    assert(hub->start_settings.shard_count > 0);
    for (uint32_t index = 0; index < hub->start_settings.shard_count; index++) {
        struct survey_page page;
        if (!survey_read(&hub->shards[index]->survey, &page))
            continue;
        oldest_ms = page.at_ms < oldest_ms ? page.at_ms : oldest_ms;
        for (unsigned at = 0; at < page.deepest.count; at++)
            survey_rank(&deepest, page.deepest.rows[at]);
        merge_slowest(&slowest, &page.slowest);
        for (unsigned at = 0; at < page.sessions.count; at++)
            survey_rank_session(&sessions, &page.sessions.rows[at]);
    }
    uint64_t now_ms = shard_now_ms(shard); // others may have read the clock later
    if (oldest_ms != UINT64_MAX)
        put_number(out, "surveyed_ms_ago", now_ms > oldest_ms ? now_ms - oldest_ms : 0);
    put_list(shard, out, "slowest_targets", &slowest, "oldest_ms", "pending");
    put_list(shard, out, "deepest_queues", &deepest, "bytes", "frames");
    put_sessions(shard, out, &sessions);
}

void status_write(struct shard *shard, struct text *out) {
    assert(shard->hub->shards[shard->index] == shard);
    struct stats_list gauges;
    stats_list_gauges(shard->hub->start_settings.features, &gauges);
    put_hub(shard, out, &gauges);
    put_transports(shard->hub, out, &gauges);
    put_sandbox(shard->hub, out);
    put_histograms(shard->hub, out);
    put_shards(shard->hub, out, &gauges);
    put_surveys(shard, out);
    feature_stats(shard, out);
    text_put(out, "}");
}

// --- Methods

static struct span params_of(const struct message *message) {
    return lookup_has(&message->lookup, KEY_PARAMS) ? message->lookup.value[KEY_PARAMS] : (struct span){0};
}

void status_ping(struct shard *shard, const struct message *message) {
    if (!authz_may_use_source(shard, message))
        return;
    struct span params = params_of(message);
    assert(params.at + params.bytes <= message->frame->body.bytes);
    if (!message_is_request(message))
        return;
    if (params.bytes)
        reply_result(shard, message->peer, message_reply_to(message), message->body + params.at,
                     params.bytes);
    else
        reply_result(shard, message->peer, message_reply_to(message), "null", 4);
}

void status_stats(struct shard *shard, const struct message *message) {
    assert(shard->hub->shards[shard->index] == shard);
    struct text result;
    if (!authz_admin(shard, message))
        return;
    text_init(&result);
    survey_request(shard);
    status_write(shard, &result);
    message_reply(shard, message, &result);
}
