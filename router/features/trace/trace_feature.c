// Registers the feature that sends spans to a collector (--otlp).
#include <assert.h>

#include "router/engine/shard/feature.h"
#include "router/engine/shard/option.h"
#include "router/features/trace/collector.h"
#include "router/features/trace/span_exporter.h"
#include "router/features/trace/trace.h"

static bool trace_is_wanted(const struct hub_settings *settings) {
    return settings->collector_url.host[0] != '\0';
}

static bool trace_open(struct shard *shard) {
    struct trace *trace = trace_of(shard);
    uint64_t number = ~(uint64_t)shard->index;
    trace->coin = siphash_table(&shard->hub->start_settings.secrets.spans, &number, sizeof number) | 1;
    trace->drawn_for = TRACE_UNDRAWN;
    if (shard->index > 0)
        return true;
    trace->exporter = span_exporter_create(shard);
    return trace->exporter != NULL;
}

static void trace_close(struct shard *shard) {
    assert(trace_of(shard));
    text_deinit(&trace_of(shard)->json);
    if (trace_of(shard)->exporter)
        span_exporter_destroy(trace_of(shard)->exporter);
}

static void trace_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    assert(kind == TRACE_MAIL_SPAN && shard->index == 0);
    (void)kind;
    span_exporter_take(trace_of(shard)->exporter, list_entry(mail, struct span_record, mail));
}

static void trace_timer(struct shard *shard, struct timer *timer, unsigned kind) {
    assert(kind == TRACE_TIMER_EXPORTER && !timer_armed(timer));
    (void)timer;
    (void)kind;
    span_exporter_expired(trace_of(shard)->exporter);
}

static void trace_event(struct shard *shard, const struct io_event *event, unsigned kind) {
    assert(shard->index == 0);
    struct span_exporter *exporter = trace_of(shard)->exporter;
    switch ((enum trace_token)kind) {
    case TRACE_TOKEN_CONNECT:
        span_exporter_connected(exporter, event);
        break;
    case TRACE_TOKEN_SEND:
        span_exporter_sent(exporter, event);
        break;
    case TRACE_TOKEN_RECEIVE:
        span_exporter_received(exporter, event);
        break;
    case TRACE_TOKEN_RESOLVER:
        span_exporter_resolved(exporter, event);
        break;
    }
}

static void trace_drain(struct shard *shard) {
    assert(shard->phase != HUB_SERVING);
    if (shard->index == 0)
        span_exporter_drain(trace_of(shard)->exporter);
}

static bool trace_holds_phase(const struct shard *shard) {
    return shard->index == 0 && shard->phase == HUB_STOPPED && span_exporter_holds(trace_of(shard)->exporter);
}

// The words of --trace-parent. The index of a word is the option's value.
static const char *const trace_parents[] = {"keep", "hub", NULL};

static const struct option trace_options[] = {
    {"otlp", OPTION_PARSED, OPTIONS_PROCESS, OPTION_SECRET, OPTION_FIELD(collector_url), 0, 0, NULL, "URL",
     NULL, NULL,
     "send spans of traces to this collector, as OTLP/HTTP in JSON: http://HOST:PORT[/PATH]; the path "
     "is " COLLECTOR_PATH " if none is given"},
    {"trace-sample", OPTION_FRACTION, OPTIONS_PROCESS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_TRACE, TRACE_OWN_SAMPLE), 0, UNITS_WHOLE, NULL, "P", "0.01", NULL,
     "part of the requests without a trace context that have a span, from 0 to 1; a context decides "
     "for its own request"},
    {"trace-rate", OPTION_COUNT, OPTIONS_PROCESS, OPTION_RELOADS, OPTION_OWN(FEATURE_TRACE, TRACE_OWN_RATE),
     1, 1000000, NULL, "N", "1000", NULL, "spans a second at most; others are dropped"},
    {"trace-parent", OPTION_CHOICE, OPTIONS_PROCESS, OPTION_RELOADS,
     OPTION_OWN(FEATURE_TRACE, TRACE_OWN_PARENT), 0, 0, trace_parents, "WHAT", "keep", NULL,
     "parent that a target finds in a sampled request: the source's span, or the hub's span"},
    {.name = NULL},
};

static const struct stats_row trace_counters[TRACE_COUNTERS + 1] = {
    [TRACE_COUNT_EXPORTED] = {"spans_exported", "spans_exported_total", NULL,
                              "Spans that the collector has taken.", STATS_LAST},
    [TRACE_COUNT_DROPPED_QUEUE] = {"spans_dropped_queue", "spans_dropped_total", "reason=\"queue\"",
                                   "Spans that the collector doesn't get, by reason.", STATS_LAST},
    [TRACE_COUNT_DROPPED_RATE] = {"spans_dropped_rate", "spans_dropped_total", "reason=\"rate\"", NULL,
                                  STATS_LAST},
    [TRACE_COUNT_DROPPED_REFUSED] = {"spans_dropped_refused", "spans_dropped_total", "reason=\"refused\"",
                                     NULL, STATS_LAST},
    [TRACE_COUNT_ANSWERS_UNREAD] = {"span_answers_unread", "span_answers_unread_total", NULL,
                                    "Answers of the collector that take spans, and don't tell before 1 MiB "
                                    "or 10 s how many of them it rejects.",
                                    STATS_LAST},
};

const struct feature trace_feature = {
    .name = "trace",
    .is_on = trace_is_wanted,
    .options = trace_options,
    .read_option = collector_read_option,
    .check_settings = collector_check_settings,
    .needs_resolver = collector_needs_resolver,
    .counters = trace_counters,
    .shard_bytes = sizeof(struct trace),
    .hub_bytes = sizeof(struct trace_hub),
    .open = trace_open,
    .close = trace_close,
    .mail = trace_mail,
    .timer = trace_timer,
    .event = trace_event,
    .drain = trace_drain,
    .holds_phase = trace_holds_phase,
};
