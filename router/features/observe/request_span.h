// Spans of requests (router/features/trace): which requests have one, what it tells, and whose place it takes in what is
// forwarded.
#pragma once

#include "router/features/observe/observation.h"
#include "router/features/trace/trace.h"

// Whether a request that may bear a context has a span: by its flag, else by chance; within the rate.
bool request_span_has_flag(struct shard *shard, const struct message *message);
// Whether a request that is taken in has a span. Most messages bear no context, which is known at a glance: they have neither
// header fields nor _meta.
static inline bool request_span_is_due(struct shard *shard, const struct message *message) {
    const struct unit *unit = message->frame->unit;
    bool has_fields =
        unit->length_line_bytes > 0 && unit->body_at > unit->length_line_bytes + sizeof "\r\n" - 1;
    if (has_fields || lookup_has(&message->lookup, KEY_META))
        return request_span_has_flag(shard, message);
    return trace_draws(shard) && trace_admits(shard);
}
// Names the span of a request that is to have one.
void request_span_begin(struct shard *shard, struct observation *observation);
// What a request calls that goes to this agent, or to one that isn't known: a tool, or something of an MCP server's. Writes
// its name, cut, in `name`.
enum trace_callee request_span_callee(const struct message *message, const struct agent *agent,
                                      char name[TRACE_TEXT_BYTES_MAX], size_t *name_bytes);
// Puts the span in the place of its parent wherever the message bears the context, before anything of it is copied.
void request_span_put(struct observation *observation, const struct message *message);
// The parcel of the request is made; NULL: it was refused. What its neighbours of an array have, too, is as it was.
void request_span_put_back(struct observation *observation, const struct message *message,
                           struct parcel *parcel);
// Sends the span of a request that has ended on its way.
void request_span_end(struct shard *shard, const struct observation *observation);
