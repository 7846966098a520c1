// Counters and gauges: one table of each kind makes the enums, the names in hub/stats and the metrics. Each shard
// counts for itself; a reader adds the shards' values.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/log_histogram.h"
#include "router/engine/shard/feature.h"

// X(counter, name in hub/stats, metric without `patchbay_`, labels of the metric, help text of the metric). Rows of one
// metric stand together, and the first row has the help text.
#define COUNTERS(X)                                                                                          \
    X(COUNT_CONNECTIONS_OPENED, "connections_opened", "connections_opened_total", NULL,                      \
      "Connections that were taken in.")                                                                     \
    X(COUNT_CONNECTIONS_CLOSED, "connections_closed", "connections_closed_total", NULL,                      \
      "Connections that have gone, for whatever reason.")                                                    \
    X(COUNT_CONNECTIONS_REFUSED, "connections_refused", "connections_refused_total", NULL,                   \
      "Connections closed at once: a limit, no memory, or the hub was ending.")                              \
    X(COUNT_BYTES_RECEIVED, "bytes_received", "received_bytes_total", NULL, "Bytes that came from peers.")   \
    X(COUNT_BYTES_SENT, "bytes_sent", "sent_bytes_total", NULL, "Bytes that the kernel took for peers.")     \
    X(COUNT_FRAMES_RECEIVED, "frames_received", "frames_received_total", NULL,                               \
      "Frames, lines and other units that bear messages.")                                                   \
    X(COUNT_BATCHES_RECEIVED, "batches_received", "batches_received_total", NULL, "JSON-RPC batches.")       \
    X(COUNT_REQUESTS_RECEIVED, "requests_received", "messages_received_total", "kind=\"request\"",           \
      "Messages from peers, by kind.")                                                                       \
    X(COUNT_NOTIFICATIONS_RECEIVED, "notifications_received", "messages_received_total",                     \
      "kind=\"notification\"", NULL)                                                                         \
    X(COUNT_RESPONSES_RECEIVED, "responses_received", "messages_received_total", "kind=\"response\"", NULL)  \
    X(COUNT_REQUESTS_FORWARDED, "requests_forwarded", "messages_forwarded_total", "kind=\"request\"",        \
      "Messages forwarded to peers, by kind.")                                                               \
    X(COUNT_NOTIFICATIONS_FORWARDED, "notifications_forwarded", "messages_forwarded_total",                  \
      "kind=\"notification\"", NULL)                                                                         \
    X(COUNT_RESPONSES_FORWARDED, "responses_forwarded", "messages_forwarded_total", "kind=\"response\"",     \
      NULL)                                                                                                  \
    X(COUNT_PROGRESS_FORWARDED, "progress_forwarded", "messages_forwarded_total", "kind=\"progress\"", NULL) \
    X(COUNT_CANCELS_FORWARDED, "cancels_forwarded", "messages_forwarded_total", "kind=\"cancel\"", NULL)     \
    X(COUNT_ANSWERED_BY_HUB, "answered_by_hub", "results_by_hub_total", NULL,                                \
      "Requests that the hub itself answered with a result.")                                                \
    X(COUNT_ERRORS_BY_HUB, "errors_by_hub", "errors_by_hub_total", NULL,                                     \
      "Errors that the hub itself answered with.")                                                           \
    X(COUNT_FRAMING_ERRORS, "framing_errors", "framing_errors_total", NULL,                                  \
      "Connections ended for what was no frame, line or request.")                                           \
    X(COUNT_REQUESTS_TIMED_OUT, "requests_timed_out", "requests_ended_total", "reason=\"timed_out\"",        \
      "Forwarded requests that ended without the target's response, by reason.")                             \
    X(COUNT_REQUESTS_ABANDONED, "requests_abandoned_by_source", "requests_ended_total",                      \
      "reason=\"source_left\"", NULL)                                                                        \
    X(COUNT_CANCELLED_IN_QUEUE, "requests_cancelled_in_queue", "requests_ended_total",                       \
      "reason=\"cancelled_in_queue\"", NULL)                                                                 \
    X(COUNT_TARGETS_LEFT, "requests_ended_by_target_leaving", "requests_ended_total",                        \
      "reason=\"target_left\"", NULL)                                                                        \
    X(COUNT_EVENTS_RECEIVED, "events_received", "events_received_total", NULL,                               \
      "Events that were published.")                                                                         \
    X(COUNT_EVENTS_DELIVERED, "events_delivered", "events_delivered_total", NULL,                            \
      "Copies of events queued for subscribers.")                                                            \
    X(COUNT_EVENTS_UNHEARD, "events_without_subscriber", "events_unheard_total", NULL,                       \
      "Events that nobody had subscribed to.")                                                               \
    X(COUNT_DROP_EVENT_OVERLOADED, "dropped_events_overloaded", "dropped_total",                             \
      "kind=\"event\",reason=\"overloaded\"", "What was not delivered, by what it was and why.")             \
    X(COUNT_DROP_EVENT_GOVERNANCE, "dropped_events_governance", "dropped_total",                             \
      "kind=\"event\",reason=\"governance\"", NULL)                                                          \
    X(COUNT_DROP_EVENT_NO_MEMORY, "dropped_events_no_memory", "dropped_total",                               \
      "kind=\"event\",reason=\"no_memory\"", NULL)                                                           \
    X(COUNT_DROP_NO_ROUTE, "dropped_notifications_without_route", "dropped_total",                           \
      "kind=\"notification\",reason=\"no_route\"", NULL)                                                     \
    X(COUNT_DROP_REFUSED, "dropped_notifications_refused", "dropped_total",                                  \
      "kind=\"notification\",reason=\"refused\"", NULL)                                                      \
    X(COUNT_DROP_OVERLOADED, "dropped_notifications_overloaded", "dropped_total",                            \
      "kind=\"notification\",reason=\"overloaded\"", NULL)                                                   \
    X(COUNT_DROP_TARGET_GONE, "dropped_frames_target_gone", "dropped_total",                                 \
      "kind=\"frame\",reason=\"target_gone\"", NULL)                                                         \
    X(COUNT_DROP_ANSWER_SOURCE_GONE, "dropped_answers_source_gone", "dropped_total",                         \
      "kind=\"answer\",reason=\"source_gone\"", NULL)                                                        \
    X(COUNT_DROP_RESPONSE_UNKNOWN, "dropped_responses_unknown_id", "dropped_total",                          \
      "kind=\"response\",reason=\"unknown_id\"", NULL)                                                       \
    X(COUNT_DROP_RESPONSE_FOREIGN, "dropped_responses_from_another_connection", "dropped_total",             \
      "kind=\"response\",reason=\"foreign\"", NULL)                                                          \
    X(COUNT_DROP_RESPONSE_BROKEN, "dropped_responses_broken", "dropped_total",                               \
      "kind=\"response\",reason=\"broken\"", NULL)                                                           \
    X(COUNT_DROP_RESPONSE_TOO_LARGE, "dropped_responses_too_large_for_their_batch", "dropped_total",         \
      "kind=\"response\",reason=\"too_large\"", NULL)                                                        \
    X(COUNT_DROP_PROGRESS_UNKNOWN, "dropped_progress_unknown_token", "dropped_total",                        \
      "kind=\"progress\",reason=\"unknown_token\"", NULL)                                                    \
    X(COUNT_DROP_RESPONSE_OVER_PAYLOAD, "dropped_responses_over_max_payload", "dropped_total",               \
      "kind=\"response\",reason=\"over_max_payload\"", NULL)                                                 \
    X(COUNT_DROP_PROGRESS_OVER_PAYLOAD, "dropped_progress_over_max_payload", "dropped_total",                \
      "kind=\"progress\",reason=\"over_max_payload\"", NULL)                                                 \
    X(COUNT_DROP_NO_MEMORY, "dropped_frames_no_memory", "dropped_total",                                     \
      "kind=\"frame\",reason=\"no_memory\"", NULL)                                                           \
    X(COUNT_CLOSED_SLOW_READER, "closed_slow_readers", "connections_cut_total", "reason=\"slow_reader\"",    \
      "Connections that the hub itself closed, by reason.")                                                  \
    X(COUNT_CLOSED_SLOW_SENDER, "closed_slow_senders", "connections_cut_total", "reason=\"slow_sender\"",    \
      NULL)                                                                                                  \
    X(COUNT_CLOSED_IDLE, "closed_idle", "connections_cut_total", "reason=\"idle\"", NULL)                    \
    X(COUNT_CLOSED_NO_MEMORY, "closed_no_memory", "connections_cut_total", "reason=\"no_memory\"", NULL)     \
    X(COUNT_CLOSED_UNAUTHENTICATED, "closed_without_credential", "connections_cut_total",                    \
      "reason=\"no_credential\"", NULL)                                                                      \
    X(COUNT_CLOSED_GUESS, "closed_wrong_credential", "connections_cut_total", "reason=\"wrong_credential\"", \
      NULL)                                                                                                  \
    X(COUNT_CLOSED_REVOKED, "closed_credential_gone", "connections_cut_total", "reason=\"credential_gone\"", \
      NULL)                                                                                                  \
    X(COUNT_CLOSED_HANDSHAKE, "closed_handshakes_late", "connections_cut_total", "reason=\"handshake\"",     \
      NULL)                                                                                                  \
    X(COUNT_HANDSHAKES, "tls_handshakes", "tls_handshakes_total", "result=\"done\"",                         \
      "Handshakes of TLS, by what came of them.")                                                            \
    X(COUNT_HANDSHAKES_FAILED, "tls_handshakes_failed", "tls_handshakes_total", "result=\"failed\"", NULL)   \
    X(COUNT_RECORDS_BROKEN, "tls_streams_broken", "tls_streams_broken_total", "reason=\"record\"",           \
      "Connections of TLS that came to no good end, by how.")                                                \
    X(COUNT_STREAMS_TRUNCATED, "tls_streams_truncated", "tls_streams_broken_total", "reason=\"truncated\"",  \
      NULL)                                                                                                  \
    X(COUNT_REFUSED_REGISTER, "refused_register", "refusals_total", "rule=\"register\"",                     \
      "What users may not do and have tried, by rule.")                                                      \
    X(COUNT_REFUSED_OFFER, "refused_offer", "refusals_total", "rule=\"offer\"", NULL)                        \
    X(COUNT_REFUSED_CALL, "refused_call", "refusals_total", "rule=\"call\"", NULL)                           \
    X(COUNT_REFUSED_PUBLISH, "refused_publish", "refusals_total", "rule=\"publish\"", NULL)                  \
    X(COUNT_REFUSED_SUBSCRIBE, "refused_subscribe", "refusals_total", "rule=\"subscribe\"", NULL)            \
    X(COUNT_REFUSED_LEVEL, "refused_level", "refusals_total", "rule=\"level\"", NULL)                        \
    X(COUNT_REFUSED_ADMIN, "refused_admin", "refusals_total", "rule=\"admin\"", NULL)                        \
    X(COUNT_REFUSED_SOURCE_AGENT, "refused_source_agent", "refusals_total", "rule=\"sourceAgent\"", NULL)    \
    X(COUNT_REFUSED_CREDENTIAL, "refused_credential", "refusals_total", "rule=\"credential\"", NULL)         \
    X(COUNT_REFUSED_OWN, "refused_own", "refusals_total", "rule=\"own\"", NULL)                              \
    X(COUNT_OVER_LIMIT, "refused_over_limit", "over_limit_total", NULL,                                      \
      "Messages that were over a limit of their user's.")                                                    \
    X(COUNT_RECEIVE_STARVED, "receives_without_buffer", "receives_starved_total", NULL,                      \
      "Receives that waited because no buffer was there.")                                                   \
    X(COUNT_ARRIVALS_PUT_OFF, "arrivals_put_off", "arrivals_put_off_total", NULL,                            \
      "Arrivals that waited until others had had their share of a turn.")                                    \
    X(COUNT_ACCEPT_FAILED, "accepts_failed", "accepts_failed_total", NULL,                                   \
      "Accepts that the system refused.")                                                                    \
    X(COUNT_JOURNAL_ENTRIES, "journal_entries", "journal_entries_total", NULL,                               \
      "Entries that are on disk in the audit journal.")                                                      \
    X(COUNT_JOURNAL_GROUPS, "journal_groups", "journal_syncs_total", NULL,                                   \
      "Groups of entries that were written and synced together.")                                            \
    X(COUNT_JOURNAL_FAILED, "journal_entries_failed", "journal_errors_total", "reason=\"write\"",            \
      "What the audit journal could not do, by what it was.")                                                \
    X(COUNT_JOURNAL_REFUSED, "journal_entries_refused", "journal_errors_total", "reason=\"refused\"", NULL)  \
    X(COUNT_JOURNAL_CUT_FAILED, "journal_cuts_failed", "journal_errors_total", "reason=\"cut\"", NULL)       \
    X(COUNT_JOURNAL_REOPEN_FAILED, "journal_reopens_failed", "journal_errors_total", "reason=\"reopen\"",    \
      NULL)                                                                                                  \
    X(COUNT_JOURNAL_REOPENED, "journal_reopens", "journal_reopens_total", NULL,                              \
      "Times that the audit journal was opened again.")                                                      \
    X(COUNT_RELOADS_FAILED, "reloads_failed", "reloads_failed_total", NULL,                                  \
      "Configurations that were read again and could not be used.")                                          \
    X(COUNT_APPROVALS_REFUSED, "gate_refused", "gate_refused_total", NULL,                                   \
      "Messages that would have been held and could not be: for want of room, or as a stream begins.")       \
    X(COUNT_EVENTS_SENT, "cluster_events_sent", "cluster_events_sent_total", NULL,                           \
      "Events that went to other hubs.")                                                                     \
    X(COUNT_EVENTS_DROPPED, "cluster_events_dropped", "cluster_events_dropped_total", NULL,                  \
      "Events that could not go to other hubs.")                                                             \
    X(COUNT_TURNS, "turns", "turns_total", NULL, "Turns of the shards' loops.")                              \
    X(COUNT_SENDS, "sends", "sends_total", NULL, "Sends handed to the kernel.")                              \
    X(COUNT_KERNEL_ENTRIES, "kernel_entries", "kernel_entries_total", NULL, "Entries into the kernel.")      \
    X(COUNT_WAITS_HELD, "waits_held", "waits_held_total", NULL,                                              \
      "Waits for work that were held so that more came of them.")

// Values that rise and fall. X has the same arguments as above. Gauges of connections by transport (struct
// transport.gauge) belong to one metric.
#define GAUGES(X)                                                                                            \
    X(GAUGE_FRAMED, "framed", "connections", "transport=\"framed\"", "Connections, by how they speak.")      \
    X(GAUGE_LINES, "lines", "connections", "transport=\"lines\"", NULL)                                      \
    X(GAUGE_PENDING, "pending", "pending_requests", NULL, "Forwarded requests without an answer yet.")       \
    X(GAUGE_QUEUED_BYTES, "queued_bytes", "queued_bytes", NULL,                                              \
      "Bytes that wait for peers, as last looked at.")                                                       \
    X(GAUGE_QUEUED_FRAMES, "queued_frames", "queued_frames", NULL,                                           \
      "Frames that wait for peers, as last looked at.")                                                      \
    X(GAUGE_REMOTE_LINK, "cluster_link", "cluster_link", NULL, "Whether there is a link to a NATS server.")  \
    X(GAUGE_BUFFERS, "receive_buffers", "receive_buffers", NULL, "Receive buffers in being.")

enum gauge {
#define X(name, text, metric, labels, help) name,
    GAUGES(X)
#undef X
        GAUGES_COUNT
};

enum counter {
#define X(name, text, metric, labels, help) name,
    COUNTERS(X)
#undef X
        COUNTERS_COUNT
};
enum { COUNTER_NONE = -1 }; // stands for no counter

// A row of one of the tables, or of a feature's.
struct stats_row {
    const char *name;   // in hub/stats
    const char *metric; // behind `patchbay_`
    const char *labels; // or NULL
    const char *help;   // NULL: as the row before it
    // For a feature's row: the row of the engine's table after which the feature's row is shown (STATS_AFTER), or
    // STATS_LAST.
    unsigned after;
};
enum { STATS_LAST = 0 };
#define STATS_AFTER(row) ((unsigned)(row) + 1)

// The numbers of a feature's counters and gauges, which follow the engine's.
enum {
    STATS_COUNTERS_MAX = COUNTERS_COUNT + FEATURES_MAX * FEATURE_COUNTERS_MAX,
    STATS_GAUGES_MAX = GAUGES_COUNT + FEATURES_MAX * FEATURE_GAUGES_MAX
};
#define FEATURE_COUNTER(number, place) (COUNTERS_COUNT + (unsigned)(number)*FEATURE_COUNTERS_MAX + (place))
#define FEATURE_GAUGE(number, place)   (GAUGES_COUNT + (unsigned)(number)*FEATURE_GAUGES_MAX + (place))

struct stats {
    _Atomic uint64_t values[STATS_COUNTERS_MAX];
    _Atomic uint64_t gauges[STATS_GAUGES_MAX];
    // The processor time of the shard's thread at the last look, in ns; and its share of the time between the last two
    // looks, in thousandths.
    _Atomic uint64_t cpu_ns, cpu_permille;
    // Frames that were sent, by microseconds from the turn that took a frame in to its hand-over to the kernel. All
    // frames of one send count as its first frame.
    struct log_histogram latency;
    // Sends, by the bytes that waited for the peer when the send began.
    struct log_histogram depth;
};

// Adds to a counter of the calling shard, the engine's or a feature's (FEATURE_COUNTER). There is one writer, so no
// locked instruction is needed.
static inline void stats_add(struct stats *stats, unsigned counter, uint64_t count) {
    assert(counter < STATS_COUNTERS_MAX);
    uint64_t value = atomic_load_explicit(&stats->values[counter], memory_order_relaxed);
    atomic_store_explicit(&stats->values[counter], value + count, memory_order_relaxed);
}
static inline void stats_count(struct stats *stats, unsigned counter) {
    stats_add(stats, counter, 1);
}
static inline void stats_set(struct stats *stats, unsigned counter, uint64_t value) {
    assert(counter < STATS_COUNTERS_MAX);
    atomic_store_explicit(&stats->values[counter], value, memory_order_relaxed);
}
static inline void stats_gauge(struct stats *stats, unsigned gauge, uint64_t value) {
    assert(gauge < STATS_GAUGES_MAX);
    atomic_store_explicit(&stats->gauges[gauge], value, memory_order_relaxed);
}
static inline void stats_move_gauge(struct stats *stats, unsigned gauge, int64_t by) {
    assert(gauge < STATS_GAUGES_MAX);
    uint64_t value = atomic_load_explicit(&stats->gauges[gauge], memory_order_relaxed);
    stats_gauge(stats, gauge, value + (uint64_t)by);
}
// Returns a counter, or a gauge, of any shard.
uint64_t stats_read(const struct stats *stats, unsigned counter);
uint64_t stats_read_gauge(const struct stats *stats, unsigned gauge);
// Returns the name of a counter of the engine; static.
const char *stats_name(enum counter counter);

// All counters, or all gauges, of a hub, in the order in which they are shown.
struct stats_list {
    unsigned count;
    struct stats_entry {
        unsigned number;
        const struct stats_row *row;
    } entries[STATS_COUNTERS_MAX];
};
static_assert((unsigned)STATS_COUNTERS_MAX >= (unsigned)STATS_GAUGES_MAX, "a list holds either");

// Fills *out with the engine's rows and the features' rows. `features` is an array by number, or NULL for none. Rows of
// several features after one row of the engine are in the order of feature.stats_order.
void stats_list_counters(const struct feature *const *features, struct stats_list *out);
void stats_list_gauges(const struct feature *const *features, struct stats_list *out);
// Returns whether a gauge counts the connections of a transport.
bool stats_is_transport(const struct stats_row *row);
