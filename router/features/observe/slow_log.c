#include "router/features/observe/slow_log.h"

#include <assert.h>

#include "io/log.h"

// Returns how long a request waited in its target's queue, in ms. A request that never left the queue waited to its
// end.
static struct log_field queue_ms(const struct observation *observation) {
    uint64_t until_ns = observation->sent_ns ? observation->sent_ns : observation->ended_ns;
    bool is_known = observation->queued_ns && (observation->sent_ns || !observation->answered_ns);
    if (!is_known)
        return log_unknown();
    return log_number(
        until_ns > observation->queued_ns ? (int64_t)((until_ns - observation->queued_ns) / 1000000) : 0);
}

void slow_log_note(struct shard *shard, const struct observation *observation) {
    uint64_t took_ns =
        observation->ended_ns > observation->came_ns ? observation->ended_ns - observation->came_ns : 0;
    if (observation->kind != OBSERVED_REQUEST || !slow_log_is_on(shard) || took_ns < slow_log_from_ns(shard))
        return;
    const char *outcome = observation_outcome_text(observation->outcome);
    assert(outcome);
    bool is_written = log_write(
        LOG_SLOW_REQUEST,
        LOG_FIELDS(log_bytes(observation_source(observation), observation->source_bytes),
                   observation->target_bytes ? log_bytes(observation->target, observation->target_bytes)
                                             : log_unknown(),
                   log_bytes(observation_method(observation), observation->method_bytes),
                   log_number((int64_t)(took_ns / 1000000)), queue_ms(observation), log_text(outcome)),
        "slow request: %.*s from %.*s to %.*s took %llu ms: %s", (int)observation->method_bytes,
        observation_method(observation), (int)observation->source_bytes, observation_source(observation),
        (int)observation->target_bytes, observation->target, (unsigned long long)(took_ns / 1000000),
        outcome);
    if (!is_written)
        shard_note_suppressed(shard);
}
