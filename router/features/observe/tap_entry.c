#include "router/features/observe/tap_entry.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"

static void put_string(struct text *out, const char *name, const char *string, size_t bytes) {
    if (bytes == 0)
        return;
    text_put(out, name);
    text_string(out, string, bytes);
}

static void put_number(struct text *out, const char *name, uint64_t number) {
    text_put(out, name);
    text_number(out, (int64_t)number);
}

static uint64_t latest(uint64_t one, uint64_t other) {
    return one > other ? one : other;
}

// Writes the times in the queue, with the target and in the hub, whose sum is the whole time. A request that never left
// the queue has no time with its target. If the time of sending is unknown, nothing is written.
static void put_times(struct text *out, const struct observation *observation) {
    uint64_t came = observation->came_ns, ended = latest(observation->ended_ns, came);
    uint64_t queued = latest(observation->queued_ns, came), sent = latest(observation->sent_ns, queued);
    uint64_t answered = observation->answered_ns ? latest(observation->answered_ns, sent) : ended;
    assert(observation->kind == OBSERVED_REQUEST);
    if (observation->queued_ns && observation->answered_ns && !observation->sent_ns)
        return;
    if (!observation->queued_ns)
        sent = answered = queued = came;
    else if (!observation->sent_ns)
        sent = answered = latest(ended, queued);
    answered = answered < ended ? answered : latest(ended, sent);
    uint64_t queue_us = (sent - queued) / 1000, target_us = (answered - sent) / 1000;
    uint64_t all_us = (latest(ended, answered) - came) / 1000;
    if (observation->queued_ns)
        put_number(out, ",\"queueUs\":", queue_us);
    if (observation->sent_ns)
        put_number(out, ",\"targetUs\":", target_us);
    put_number(out, ",\"hubUs\":", all_us - queue_us - target_us);
}

// Writes the members that are known when a message is taken in.
static void put_head(struct text *out, const struct observation *observation) {
    assert(observation->number && observation->method_bytes > 0);
    static const char *const kinds[] = {
        [OBSERVED_REQUEST] = "request", [OBSERVED_NOTIFICATION] = "notification", [OBSERVED_EVENT] = "event"};
    put_number(out, "{\"time\":", observation->wall_ns / 1000000);
    put_number(out, ",\"n\":", observation->number);
    text_put(out, ",\"kind\":\"");
    text_put(out, kinds[observation->kind]);
    text_put(out, "\"");
    put_string(out, ",\"method\":", observation_method(observation), observation->method_bytes);
    put_string(out, ",\"source\":", observation_source(observation), observation->source_bytes);
    put_string(out, ",\"target\":", observation->target, observation->target_bytes);
    if (observation->user)
        put_string(out, ",\"user\":", observation->user->name, strlen(observation->user->name));
    if (observation->id_bytes) {
        text_put(out, ",\"sourceId\":");
        text_add(out, observation_id(observation), observation->id_bytes);
    }
    if (observation->hub_id)
        put_number(out, ",\"targetId\":", observation->hub_id);
    put_string(out, ",\"trace\":", observation->trace.trace,
               observation->trace.trace[0] ? TRACE_ID_DIGITS : 0);
    put_string(out, ",\"event\":", observation_event(observation), observation->event_bytes);
    put_number(out, ",\"bytes\":", observation->bytes);
}

static void put_body(struct text *out, const char *body, size_t bytes) {
    if (!body)
        return;
    text_put(out, ",\"body\":");
    text_string(out, body, bytes);
}

void tap_entry_put_begun(struct text *out, const struct observation *observation, const char *body,
                         size_t bytes) {
    assert(observation->kind != OBSERVED_NOTIFICATION);
    put_head(out, observation);
    text_put(out, ",\"outcome\":null");
    put_body(out, body, bytes);
    text_put(out, "}");
}

void tap_entry_put(struct text *out, const struct observation *observation, const char *body, size_t bytes) {
    const char *outcome = observation_outcome_text(observation->outcome);
    assert(outcome);
    put_head(out, observation);
    if (observation->answered_ns)
        put_number(out, ",\"answerBytes\":", observation->answer_bytes);
    if (observation->kind == OBSERVED_REQUEST)
        put_times(out, observation);
    if (observation->kind == OBSERVED_EVENT && observation->outcome == OUTCOME_DELIVERED)
        put_number(out, ",\"delivered\":", observation->delivered);
    text_put(out, ",\"outcome\":\"");
    text_put(out, outcome);
    text_put(out, "\"");
    if (observation->has_code) {
        text_put(out, ",\"code\":");
        text_number(out, observation->code);
    }
    put_body(out, body, bytes);
    text_put(out, "}");
}
