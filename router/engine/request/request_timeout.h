// Time-outs of requests: how long a request may take, how progress extends that, and the end of the request.
#pragma once

#include "router/engine/message/message.h"

// The time-out of a request. With `idle`, `ms` is the time without progress.
struct request_time {
    uint32_t ms;
    uint32_t whole_ms; // the time-out of the whole request, whatever progress comes
    bool idle;
};

// Returns the time-out of a request: from its directives, or --request-timeout. `has_token`: the source asks for
// progress.
struct request_time request_timeout_of(const struct shard *shard, const struct message *message,
                                       bool has_token);
// Arms the timer of a new request. The timer must not be armed.
void request_timeout_begin(struct shard *shard, struct pending *pending, const struct request_time *time);
// Begins a request's idle time anew, since progress has come; the time of the whole stays. Does nothing for a request
// that another hub's gate holds.
void request_timeout_extend(struct shard *shard, struct pending *pending);
// Ends a request whose time is up: answers the source with `request timed out`, and sends a cancel to the target.
void request_timeout_expired(struct shard *shard, struct pending *pending);
