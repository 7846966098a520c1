// The hub's counters: one table makes the enum, the names in hub/stats, and later the metrics. Each shard
// counts for itself; whoever wants to know adds the shards up.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

#define COUNTERS(X)                                                                                          \
    X(COUNT_CONNECTIONS_OPENED, "connections_opened")                                                        \
    X(COUNT_CONNECTIONS_CLOSED, "connections_closed")                                                        \
    X(COUNT_CONNECTIONS_REFUSED, "connections_refused")                                                      \
    X(COUNT_BYTES_RECEIVED, "bytes_received")                                                                \
    X(COUNT_BYTES_SENT, "bytes_sent")                                                                        \
    X(COUNT_FRAMES_RECEIVED, "frames_received")                                                              \
    X(COUNT_BATCHES_RECEIVED, "batches_received")                                                            \
    X(COUNT_REQUESTS_RECEIVED, "requests_received")                                                          \
    X(COUNT_NOTIFICATIONS_RECEIVED, "notifications_received")                                                \
    X(COUNT_RESPONSES_RECEIVED, "responses_received")                                                        \
    X(COUNT_REQUESTS_FORWARDED, "requests_forwarded")                                                        \
    X(COUNT_NOTIFICATIONS_FORWARDED, "notifications_forwarded")                                              \
    X(COUNT_RESPONSES_FORWARDED, "responses_forwarded")                                                      \
    X(COUNT_PROGRESS_FORWARDED, "progress_forwarded")                                                        \
    X(COUNT_ANSWERED_BY_HUB, "answered_by_hub")                                                              \
    X(COUNT_ERRORS_BY_HUB, "errors_by_hub")                                                                  \
    X(COUNT_FRAMING_ERRORS, "framing_errors")                                                                \
    X(COUNT_REQUESTS_TIMED_OUT, "requests_timed_out")                                                        \
    X(COUNT_REQUESTS_ABANDONED, "requests_abandoned_by_source")                                              \
    X(COUNT_CANCELS_FORWARDED, "cancels_forwarded")                                                          \
    X(COUNT_CANCELLED_IN_QUEUE, "requests_cancelled_in_queue")                                               \
    X(COUNT_TARGETS_LEFT, "requests_ended_by_target_leaving")                                                \
    X(COUNT_EVENTS_RECEIVED, "events_received")                                                              \
    X(COUNT_EVENTS_DELIVERED, "events_delivered")                                                            \
    X(COUNT_EVENTS_UNHEARD, "events_without_subscriber")                                                     \
    X(COUNT_DROP_EVENT_OVERLOADED, "dropped_events_overloaded")                                              \
    X(COUNT_DROP_EVENT_GOVERNANCE, "dropped_events_governance")                                              \
    X(COUNT_DROP_EVENT_NO_MEMORY, "dropped_events_no_memory")                                                \
    X(COUNT_DROP_NO_ROUTE, "dropped_notifications_without_route")                                            \
    X(COUNT_DROP_REFUSED, "dropped_notifications_refused")                                                   \
    X(COUNT_DROP_OVERLOADED, "dropped_notifications_overloaded")                                             \
    X(COUNT_DROP_TARGET_GONE, "dropped_frames_target_gone")                                                  \
    X(COUNT_DROP_ANSWER_SOURCE_GONE, "dropped_answers_source_gone")                                          \
    X(COUNT_DROP_RESPONSE_UNKNOWN, "dropped_responses_unknown_id")                                           \
    X(COUNT_DROP_RESPONSE_FOREIGN, "dropped_responses_from_another_connection")                              \
    X(COUNT_DROP_RESPONSE_BROKEN, "dropped_responses_broken")                                                \
    X(COUNT_DROP_RESPONSE_TOO_LARGE, "dropped_responses_too_large_for_their_batch")                          \
    X(COUNT_DROP_PROGRESS_UNKNOWN, "dropped_progress_unknown_token")                                         \
    X(COUNT_DROP_NO_MEMORY, "dropped_frames_no_memory")                                                      \
    X(COUNT_CLOSED_SLOW_READER, "closed_slow_readers")                                                       \
    X(COUNT_CLOSED_SLOW_SENDER, "closed_slow_senders")                                                       \
    X(COUNT_CLOSED_IDLE, "closed_idle")                                                                      \
    X(COUNT_CLOSED_NO_MEMORY, "closed_no_memory")                                                            \
    X(COUNT_RECEIVE_STARVED, "receives_without_buffer")                                                      \
    X(COUNT_ACCEPT_FAILED, "accepts_failed")                                                                 \
    X(COUNT_JOURNAL_ENTRIES, "journal_entries")                                                              \
    X(COUNT_JOURNAL_GROUPS, "journal_groups")                                                                \
    X(COUNT_JOURNAL_FAILED, "journal_entries_failed")                                                        \
    X(COUNT_JOURNAL_REFUSED, "journal_entries_refused")                                                      \
    X(COUNT_JOURNAL_CUT_FAILED, "journal_cuts_failed")                                                       \
    X(COUNT_JOURNAL_REOPENED, "journal_reopens")                                                             \
    X(COUNT_JOURNAL_REOPEN_FAILED, "journal_reopens_failed")                                                 \
    X(COUNT_RELOADS_FAILED, "reloads_failed")                                                                \
    X(COUNT_TURNS, "turns")                                                                                  \
    X(COUNT_SENDS, "sends")                                                                                  \
    X(COUNT_KERNEL_ENTRIES, "kernel_entries")

enum counter {
#define X(name, text) name,
    COUNTERS(X)
#undef X
        COUNTERS_COUNT
};

struct stats {
    _Atomic uint64_t values[COUNTERS_COUNT];
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
// Reads a counter of any shard.
uint64_t stats_read(const struct stats *stats, enum counter counter);
// Its name; static.
const char *stats_name(enum counter counter);
