#include "router/engine/request/request_timeout.h"

#include <assert.h>

#include "core/wire/field.h"
#include "router/engine/request/cancel.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/reply.h"

#define MS_NS UINT64_C(1000000)

// Returns whether each report of progress gives the request its whole time again, which the hub's settings allow. The
// request must have a token, and its source must have given no time. The time that another hub leaves a request isn't
// given by its source.
static bool extends(const struct shard *shard, const struct directives *directives, bool has_token) {
    return shard->settings->progress_extends && has_token &&
           (!directives->has_timeout || directives->timeout_is_left);
}

struct request_time request_timeout_of(const struct shard *shard, const struct message *message,
                                       bool has_token) {
    const struct directives *directives = &message->frame->unit->directives;
    uint32_t usual_ms = (uint32_t)(shard_limits(shard)->request_timeout_ns / MS_NS);
    uint32_t requested_ms = directives->has_timeout ? directives->timeout_ms : 0;
    assert(!directives->has_timeout || directives->timeout_ms > 0);
    bool idle = directives->has_idle || extends(shard, directives, has_token);
    if (__builtin_expect(!idle, true))
        return (struct request_time){requested_ms ? requested_ms : usual_ms,
                                     requested_ms ? requested_ms : usual_ms, false};
    uint32_t whole_ms = requested_ms ? requested_ms : TIMEOUT_MS_MAX;
    uint32_t idle_ms = directives->has_idle ? directives->idle_ms : usual_ms;
    return (struct request_time){idle_ms < whole_ms ? idle_ms : whole_ms, whole_ms, true};
}

void request_timeout_begin(struct shard *shard, struct pending *pending, const struct request_time *time) {
    assert(!timer_armed(&pending->timer) && time->ms > 0 && time->ms <= time->whole_ms);
    pending->timeout_ms = time->ms;
    if (__builtin_expect(time->idle, false)) {
        pending->idle = true;
        pending->limit_ms = shard_now_ms(shard) + time->whole_ms;
    }
    timer_init(&pending->timer, TIMER_PENDING);
    wheel_arm(&shard->wheel, &pending->timer, shard_now_ms(shard) + pending->timeout_ms);
}

void request_timeout_extend(struct shard *shard, struct pending *pending) {
    uint64_t due_ms = shard_now_ms(shard) + pending->timeout_ms;
    assert(pending->idle);
    if (timer_armed(&pending->timer) && !pending->remote_end)
        wheel_arm(&shard->wheel, &pending->timer, due_ms < pending->limit_ms ? due_ms : pending->limit_ms);
}

void request_timeout_expired(struct shard *shard, struct pending *pending) {
    assert(!timer_armed(&pending->timer) && pending->timeout_ms > 0);
    stats_count(&shard->stats, COUNT_REQUESTS_TIMED_OUT);
    struct text data;
    completion_begin_data(shard, pending, &data, NULL);
    // Where progress extends the time, the time that is up may be that of the whole.
    bool is_idle = pending->idle && shard_now_ms(shard) < pending->limit_ms;
    uint64_t time_ms =
        pending->idle && !is_idle ? pending->limit_ms - pending->asked_ns / MS_NS : pending->timeout_ms;
    reply_data_number(&data, "timeoutMs", (int64_t)time_ms);
    if (is_idle)
        reply_data_flag(&data, "idle");
    cancel_abandoned(shard, pending);
    completion_error(shard, pending, ERROR_TIMED_OUT, &data);
}
