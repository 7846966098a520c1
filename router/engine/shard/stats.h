// Counters and gauges: one table of each makes the enums, the names in hub/stats and the metrics. Each shard
// counts for itself; a reader adds the shards up.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/log_histogram.h"
#include "router/engine/shard/feature.h"

// X(counter, its name in hub/stats, its metric behind `patchbay_`, its labels there, what the metric counts).
// Rows of one metric stand together, and the first of them says what it counts.
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
    X(COUNT_HTTP_REQUESTS, "http_requests_received", "http_requests_received_total", NULL,                   \
      "Requests of HTTP.")                                                                                   \
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
    X(COUNT_DROP_STREAM_REFUSED, "dropped_hcs_frames_refused", "dropped_total",                              \
      "kind=\"hcs\",reason=\"refused\"", NULL)                                                               \
    X(COUNT_DROP_STREAM_ENDED, "dropped_hcs_frames_session_ended", "dropped_total",                          \
      "kind=\"hcs\",reason=\"session_ended\"", NULL)                                                         \
    X(COUNT_DROP_STREAM_SEQ, "dropped_hcs_frames_seq", "dropped_total", "kind=\"hcs\",reason=\"seq\"", NULL) \
    X(COUNT_DROP_STREAM_ATOMIC, "dropped_hcs_chunks_shed_atomic", "dropped_total",                           \
      "kind=\"hcs\",reason=\"shed_atomic\"", NULL)                                                           \
    X(COUNT_DROP_STREAM_MICRO, "dropped_hcs_chunks_shed_micro", "dropped_total",                             \
      "kind=\"hcs\",reason=\"shed_micro\"", NULL)                                                            \
    X(COUNT_DROP_STREAM_FLUSHED, "dropped_hcs_chunks_flushed", "dropped_total",                              \
      "kind=\"hcs\",reason=\"flushed\"", NULL)                                                               \
    X(COUNT_DROP_STREAM_GONE, "dropped_hcs_chunks_out_of_history", "dropped_total",                          \
      "kind=\"hcs\",reason=\"out_of_history\"", NULL)                                                        \
    X(COUNT_DROP_NO_MEMORY, "dropped_frames_no_memory", "dropped_total",                                     \
      "kind=\"frame\",reason=\"no_memory\"", NULL)                                                           \
    X(COUNT_CLOSED_SLOW_READER, "closed_slow_readers", "connections_cut_total", "reason=\"slow_reader\"",    \
      "Connections that the hub itself closed, by reason.")                                                  \
    X(COUNT_CLOSED_SLOW_SENDER, "closed_slow_senders", "connections_cut_total", "reason=\"slow_sender\"",    \
      NULL)                                                                                                  \
    X(COUNT_CLOSED_IDLE, "closed_idle", "connections_cut_total", "reason=\"idle\"", NULL)                    \
    X(COUNT_CLOSED_NO_MEMORY, "closed_no_memory", "connections_cut_total", "reason=\"no_memory\"", NULL)     \
    X(COUNT_CLOSED_UNKNOWN, "closed_without_credential", "connections_cut_total",                            \
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
    X(COUNT_CHILDREN_STARTED, "children_started", "children_started_total", NULL,                            \
      "Times that a program was started.")                                                                   \
    X(COUNT_CHILDREN_ENDED, "children_ended", "children_ended_total", NULL,                                  \
      "Times that a program ended, or could not be started, that the hub had not ended.")                    \
    X(COUNT_CHILDREN_FAILED, "children_failed", "children_failed_total", NULL,                               \
      "Those of them that were failures.")                                                                   \
    X(COUNT_CHILDREN_UNREADABLE, "children_output_unreadable", "children_output_unreadable_total", NULL,     \
      "Frames and lines of programs that could not be read.")                                                \
    X(COUNT_RELOADS_FAILED, "reloads_failed", "reloads_failed_total", NULL,                                  \
      "Configurations that were read again and could not be used.")                                          \
    X(COUNT_STREAM_FRAMES, "hcs_frames_received", "hcs_frames_received_total", NULL,                         \
      "Frames of HCS from peers.")                                                                           \
    X(COUNT_STREAM_GIVEN, "hcs_frames_delivered", "hcs_frames_delivered_total", NULL,                        \
      "Frames of HCS queued for clients, one each.")                                                         \
    X(COUNT_STREAM_ERRORS, "hcs_errors_by_hub", "hcs_errors_by_hub_total", NULL,                             \
      "Error frames of HCS that the hub itself made.")                                                       \
    X(COUNT_SESSIONS_BEGUN, "hcs_sessions_begun", "hcs_sessions_begun_total", NULL,                          \
      "Sessions of HCS that began.")                                                                         \
    X(COUNT_SESSIONS_ENDED, "hcs_sessions_ended", "hcs_sessions_ended_total", NULL,                          \
      "Sessions of HCS that ended.")                                                                         \
    X(COUNT_GATE_REFUSED, "gate_refused", "gate_refused_total", NULL,                                        \
      "Messages that would have been held and could not be: for want of room, or as a stream begins.")       \
    X(COUNT_LINKS_OPENED, "cluster_links_opened", "cluster_links_opened_total", NULL,                        \
      "Links to a NATS server that came to be.")                                                             \
    X(COUNT_LINKS_LOST, "cluster_links_lost", "cluster_links_lost_total", NULL,                              \
      "Links to a NATS server that were lost.")                                                              \
    X(COUNT_DIALS_FAILED, "cluster_dials_failed", "cluster_dials_failed_total", NULL,                        \
      "Tries to reach a NATS server that came to nothing.")                                                  \
    X(COUNT_LINK_FAULTS, "cluster_server_faults", "cluster_server_faults_total", NULL,                       \
      "What the NATS server called a fault.")                                                                \
    X(COUNT_REQUESTS_SENT, "cluster_requests_sent", "cluster_requests_sent_total", NULL,                     \
      "Requests that went to other hubs.")                                                                   \
    X(COUNT_REQUESTS_UNHEARD, "cluster_requests_unheard", "cluster_requests_unheard_total", NULL,            \
      "Requests to other hubs for which nobody was there.")                                                  \
    X(COUNT_REQUESTS_NOT_TAKEN, "cluster_requests_not_taken", "cluster_requests_not_taken_total", NULL,      \
      "Requests to other hubs that none has said to have in time.")                                          \
    X(COUNT_REQUESTS_LOST, "cluster_requests_lost", "cluster_requests_lost_total", NULL,                     \
      "Requests whose hub was gone before it answered.")                                                     \
    X(COUNT_REQUESTS_FROM_HUBS, "cluster_requests_received", "cluster_requests_received_total", NULL,        \
      "Requests and notifications that came from other hubs.")                                               \
    X(COUNT_EVENTS_SENT, "cluster_events_sent", "cluster_events_sent_total", NULL,                           \
      "Events that went to other hubs.")                                                                     \
    X(COUNT_EVENTS_DROPPED, "cluster_events_dropped", "cluster_events_dropped_total", NULL,                  \
      "Events that could not go to other hubs.")                                                             \
    X(COUNT_ANSWERS_LATE, "cluster_answers_late", "cluster_answers_late_total", NULL,                        \
      "Answers of other hubs to what had ended, or from one that hasn't the request.")                       \
    X(COUNT_NAMES_YIELDED, "cluster_names_yielded", "cluster_names_yielded_total", NULL,                     \
      "Agents that were held at another hub, too, and given up here.")                                       \
    X(COUNT_MESSAGES_UNREADABLE, "cluster_messages_unreadable", "cluster_messages_unreadable_total", NULL,   \
      "Messages of the NATS server that could not be read, or were for nobody here.")                        \
    X(COUNT_TURNS, "turns", "turns_total", NULL, "Turns of the shards' loops.")                              \
    X(COUNT_SENDS, "sends", "sends_total", NULL, "Sends handed to the kernel.")                              \
    X(COUNT_KERNEL_ENTRIES, "kernel_entries", "kernel_entries_total", NULL, "Entries into the kernel.")      \
    X(COUNT_WAITS_HELD, "waits_held", "waits_held_total", NULL,                                              \
      "Waits for work that were held so that more came of them.")

// Values that rise and fall, likewise. Connections by how they speak stand first (struct transport.gauge).
#define GAUGES(X)                                                                                            \
    X(GAUGE_FRAMED, "framed", "connections", "transport=\"framed\"", "Connections, by how they speak.")      \
    X(GAUGE_LINES, "lines", "connections", "transport=\"lines\"", NULL)                                      \
    X(GAUGE_HTTP, "http", "connections", "transport=\"http\"", NULL)                                         \
    X(GAUGE_WEBSOCKET, "websocket", "connections", "transport=\"websocket\"", NULL)                          \
    X(GAUGE_SSE, "sse", "connections", "transport=\"sse\"", NULL)                                            \
    X(GAUGE_MCP_CLIENT, "mcp", "connections", "transport=\"mcp\"", NULL)                                     \
    X(GAUGE_LINK, "nats", "connections", "transport=\"nats\"", NULL)                                         \
    X(GAUGE_CHILD, "child", "connections", "transport=\"child\"", NULL)                                      \
    X(GAUGE_PENDING, "pending", "pending_requests", NULL, "Forwarded requests without an answer yet.")       \
    X(GAUGE_QUEUED_BYTES, "queued_bytes", "queued_bytes", NULL,                                              \
      "Bytes that wait for peers, as last looked at.")                                                       \
    X(GAUGE_QUEUED_FRAMES, "queued_frames", "queued_frames", NULL,                                           \
      "Frames that wait for peers, as last looked at.")                                                      \
    X(GAUGE_CHILDREN_RUNNING, "children_running", "children", "state=\"running\"",                           \
      "Programs that the hub keeps, by state.")                                                              \
    X(GAUGE_CHILDREN_DOWN, "children_down", "children", "state=\"down\"", NULL)                              \
    X(GAUGE_CHILDREN_OTHER, "children_other", "children", "state=\"other\"", NULL)                           \
    X(GAUGE_CLUSTER_LINK, "cluster_link", "cluster_link", NULL, "Whether there is a link to a NATS server.") \
    X(GAUGE_HUBS, "cluster_hubs", "cluster_hubs", NULL, "Other hubs that are there.")                        \
    X(GAUGE_HUBS_UNSERVED, "cluster_hubs_unserved", "cluster_hubs_unserved", NULL,                           \
      "Other hubs that speak another protocol, or have other users or another gate.")                        \
    X(GAUGE_BUFFERS, "receive_buffers", "receive_buffers", NULL, "Receive buffers in being.")                \
    X(GAUGE_SESSIONS, "hcs_sessions", "hcs_sessions", NULL, "Sessions of HCS that live.")                    \
    X(GAUGE_SESSIONS_PAUSED, "hcs_sessions_paused", "hcs_sessions_paused", NULL,                             \
      "Of them, those whose producer was told to pause.")                                                    \
    X(GAUGE_SESSION_CLIENTS, "hcs_clients", "hcs_clients", NULL, "Clients of sessions of HCS.")              \
    X(GAUGE_SESSION_CLIENTS_OVER, "hcs_clients_over", "hcs_clients_over", NULL,                              \
      "Of them, those that read too slowly.")                                                                \
    X(GAUGE_SESSION_HISTORY, "hcs_history_bytes", "hcs_history_bytes", NULL,                                 \
      "Bytes that sessions of HCS keep for those who come later.")                                           \
    X(GAUGE_MCP_SESSIONS, "mcp_sessions", "mcp_sessions", NULL, "Sessions of MCP over HTTP that are open.")  \
    X(GAUGE_HELD, "held", "held_messages", NULL, "Messages that wait until somebody approves them.")         \
    X(GAUGE_HELD_BYTES, "held_bytes", "held_bytes", NULL, "Bytes of memory that these take.")

enum gauge {
#define X(name, text, metric, labels, help) name,
    GAUGES(X)
#undef X
        GAUGES_COUNT,
    GAUGE_TRANSPORTS = GAUGE_CHILD + 1 // the gauges before it are connections
};

enum counter {
#define X(name, text, metric, labels, help) name,
    COUNTERS(X)
#undef X
        COUNTERS_COUNT
};

// A row of one of the tables.
struct stats_row {
    const char *name;   // in hub/stats
    const char *metric; // behind `patchbay_`
    const char *labels; // or NULL
    const char *help;   // NULL: as the row before it
};

struct stats {
    _Atomic uint64_t values[COUNTERS_COUNT];
    _Atomic uint64_t gauges[GAUGES_COUNT];
    _Atomic uint64_t features[FEATURES_MAX][FEATURE_COUNTERS_MAX]; // counters of features (feature.h)
    // Time of a processor that the shard's thread has used, as last looked at; and in thousandths of one the
    // time between the last two looks.
    _Atomic uint64_t cpu_ns, cpu_permille;
    // Frames that were sent: microseconds from the turn that took a frame in to the moment when the kernel
    // was given it. Frames of one send count alike, as the first of them does.
    struct log_histogram latency;
    // Sends: bytes that waited for the peer when each was begun.
    struct log_histogram depth;
};

// Adds to a counter of one's own shard: there is one writer, so no locked instruction is needed.
static inline void stats_add(struct stats *stats, enum counter counter, uint64_t count) {
    assert(counter < COUNTERS_COUNT);
    uint64_t value = atomic_load_explicit(&stats->values[counter], memory_order_relaxed);
    atomic_store_explicit(&stats->values[counter], value + count, memory_order_relaxed);
}
static inline void stats_count(struct stats *stats, enum counter counter) {
    stats_add(stats, counter, 1);
}
static inline void stats_set(struct stats *stats, enum counter counter, uint64_t value) {
    assert(counter < COUNTERS_COUNT);
    atomic_store_explicit(&stats->values[counter], value, memory_order_relaxed);
}
static inline void stats_gauge(struct stats *stats, enum gauge gauge, uint64_t value) {
    assert(gauge < GAUGES_COUNT);
    atomic_store_explicit(&stats->gauges[gauge], value, memory_order_relaxed);
}
static inline void stats_move_gauge(struct stats *stats, enum gauge gauge, int64_t by) {
    assert(gauge < GAUGES_COUNT);
    uint64_t value = atomic_load_explicit(&stats->gauges[gauge], memory_order_relaxed);
    stats_gauge(stats, gauge, value + (uint64_t)by);
}
// Adds to a counter of a feature's.
static inline void stats_add_feature(struct stats *stats, unsigned feature, unsigned counter,
                                     uint64_t count) {
    assert(feature < FEATURES_MAX && counter < FEATURE_COUNTERS_MAX);
    _Atomic uint64_t *value = &stats->features[feature][counter];
    atomic_store_explicit(value, atomic_load_explicit(value, memory_order_relaxed) + count,
                          memory_order_relaxed);
}
static inline void stats_count_feature(struct stats *stats, unsigned feature, unsigned counter) {
    stats_add_feature(stats, feature, counter, 1);
}
// Reads a counter of a feature's, of any shard.
uint64_t stats_read_feature(const struct stats *stats, unsigned feature, unsigned counter);
// Reads a counter, or a gauge, of any shard.
uint64_t stats_read(const struct stats *stats, enum counter counter);
uint64_t stats_read_gauge(const struct stats *stats, enum gauge gauge);
// Their rows; static.
const struct stats_row *stats_row(enum counter counter);
const struct stats_row *stats_gauge_row(enum gauge gauge);
// A counter's name; static.
const char *stats_name(enum counter counter);
