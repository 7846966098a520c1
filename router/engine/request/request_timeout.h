// The time of a request: how long it may take, what progress adds, and its end when the time is up.
#pragma once

#include "router/engine/message/message.h"

// The time that a request has. With `idle` that is the time without progress.
struct request_time {
    uint32_t ms;
    uint32_t whole_ms; // whatever progress comes
    bool idle;
};

// Reads the time of a request off its directives, or takes the hub's --request-timeout. `has_token`: the source asks for
// progress.
struct request_time request_timeout_of(const struct shard *shard, const struct message *message,
                                       bool has_token);
// Arms the timer of a request that has just been entered. The timer must not be armed.
void request_timeout_begin(struct shard *shard, struct pending *pending, const struct request_time *time);
// Gives a request its time anew, as progress has come, up to the time of the whole. A request that another hub's gate
// holds keeps its time.
void request_timeout_extend(struct shard *shard, struct pending *pending);
// Ends a request whose time is up: the source is answered with `request timed out`, and the target is told to cancel.
void request_timeout_expired(struct shard *shard, struct pending *pending);
