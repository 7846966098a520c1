// Spans of requests (router/features/trace): which requests have a span, what the span tells, and how the span takes
// the place of its parent in the forwarded message.
#pragma once

#include "router/features/observe/observation.h"
#include "router/features/trace/trace.h"

// Returns whether a request that may bear a context has a span: by the context's flag, without a context by chance, and
// within the rate.
bool request_span_has_flag(struct shard *shard, const struct message *message);
// Returns whether a message may bear a context. Most messages have neither header fields nor _meta.
static inline bool request_span_may_have_context(const struct message *message) {
    const struct unit *unit = message->frame->unit;
    bool has_fields =
        unit->length_line_bytes > 0 && unit->body_at > unit->length_line_bytes + sizeof "\r\n" - 1;
    return has_fields || lookup_has(&message->lookup, KEY_META);
}
// Returns whether a request that is taken in has a span.
static inline bool request_span_is_due(struct shard *shard, const struct message *message) {
    if (request_span_may_have_context(message))
        return request_span_has_flag(shard, message);
    return trace_draws(shard) && trace_admits(shard);
}
// Gives a sampled request a span, and a trace if the request bears no context.
void request_span_begin(struct shard *shard, struct observation *observation);
// Returns the kind of callee of a request to this agent: a tool, or a prompt or resource of an MCP server. `agent` is
// NULL if unknown. Writes the callee's name to `name`, cut. The name doesn't depend on the agent.
enum trace_callee request_span_callee(const struct shard *shard, const struct message *message,
                                      const struct agent *agent, char name[TRACE_TEXT_BYTES_MAX],
                                      size_t *name_bytes);
// Sets the span's kind of callee anew, for an agent that was not known when the span began.
void request_span_choose(struct shard *shard, struct observation *observation, const struct message *message,
                         const struct agent *agent);
// Puts the span in the place of its parent wherever the message bears the context. Must be called before the message is
// copied.
void request_span_put(struct observation *observation, const struct message *message);
// Puts the parent back in the body of the message, as its source sent it.
void request_span_hide(const struct observation *observation, const struct message *message);
// Puts the span once more in the place of its parent in the body.
void request_span_show(const struct observation *observation, const struct message *message);
// Puts the parent back in a header block that other messages of an array share. The parcel of the request is made, and
// gets a block of its own; NULL: the request was refused.
void request_span_put_back(struct observation *observation, const struct message *message,
                           struct parcel *parcel);
// Puts the span in the place of its parent in a request that the hub answers itself, and of which agents are told.
// Nothing would put the parent back later in a header block that other messages of an array share. So a request with a
// context there keeps its parent.
void request_span_put_for_good(struct observation *observation, const struct message *message);
// Hands the span of a request that has ended to trace_submit.
void request_span_end(struct shard *shard, const struct observation *observation);
