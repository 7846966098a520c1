// What is noted of one message while somebody looks: a tap, or the log of slow requests.
//
// One that goes to an agent hangs on its request. Of all others there is one for a moment alone. What isn't known has the
// value 0.
#pragma once

#include "core/base/errors.h"
#include "core/requests/pending.h"
#include "core/requests/trace_context.h"
#include "core/requests/trace_span.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/feature.h"

enum observation_kind { OBSERVED_REQUEST, OBSERVED_NOTIFICATION, OBSERVED_EVENT };

#define OBSERVATION_OUTCOMES(X)                                                                              \
    X(OUTCOME_NONE, NULL)                                                                                    \
    X(OUTCOME_RESULT, "result")                                                                              \
    X(OUTCOME_ERROR, "error")                                                                                \
    X(OUTCOME_REFUSED, "refused")                                                                            \
    X(OUTCOME_TIMED_OUT, "timed_out")                                                                        \
    X(OUTCOME_CANCELLED, "cancelled")                                                                        \
    X(OUTCOME_SOURCE_LEFT, "source_left")                                                                    \
    X(OUTCOME_TARGET_LEFT, "target_left")                                                                    \
    X(OUTCOME_DELIVERED, "delivered")                                                                        \
    X(OUTCOME_DROPPED, "dropped")

enum observation_outcome {
#define X(name, text) name,
    OBSERVATION_OUTCOMES(X)
#undef X
        OUTCOMES_COUNT
};

enum { OBSERVED_TARGET_BYTES = METHOD_BYTES_MAX + 1 };

struct observation {
    enum observation_kind kind;
    enum observation_outcome outcome; // OUTCOME_NONE: none yet
    bool by_hub;                      // the hub has made the answer
    bool is_told;                     // taps have heard that it was taken in
    bool is_mcp;                      // the hub's codes are MCP's (error_code_mcp)
    bool has_code;
    int64_t code;     // of the error
    uint64_t number;  // that no other message of this hub has
    uint64_t wall_ns; // when it was taken in, since 1970
    // By the shards' clock; 0: not known.
    uint64_t came_ns;     // taken in
    uint64_t queued_ns;   // put in its target's queue
    uint64_t sent_ns;     // handed to the kernel
    uint64_t answered_ns; // the answer was taken in
    uint64_t ended_ns;
    uint64_t source;         // connection
    uint64_t hub_id;         // 0: it was not forwarded
    const struct user *user; // or NULL
    uint64_t bytes, answer_bytes;
    struct trace_context trace; // of a span without a parent, that has no digits
    bool is_sampled;            // it has a span (request_span.h), and all below:
    char span[TRACE_PARENT_DIGITS];
    enum trace_callee callee;
    uint32_t block_at;  // where the span stands in a header block that others have, too; 0: nowhere
    uint32_t body_at;   // where the span stands in the place of its parent in the body; 0: nowhere
    uint64_t delivered; // of an event: deliveries
    char *body;         // of an event: as much of it as a tap wants; or NULL
    uint32_t body_bytes;
    uint32_t target_bytes;
    char target[OBSERVED_TARGET_BYTES]; // an agentId, or `#` and a connection's number; bytes 0: not known
    // Texts, one behind the other.
    uint32_t method_bytes, source_bytes, id_bytes, event_bytes, callee_bytes;
    char texts[];
};

static inline const char *observation_method(const struct observation *observation) {
    return observation->texts;
}
static inline const char *observation_source(const struct observation *observation) {
    return observation->texts + observation->method_bytes;
}
// The source's id, as its JSON lies.
static inline const char *observation_id(const struct observation *observation) {
    return observation_source(observation) + observation->source_bytes;
}
static inline const char *observation_event(const struct observation *observation) {
    return observation_id(observation) + observation->id_bytes;
}
// The name of the callee.
static inline const char *observation_callee(const struct observation *observation) {
    return observation_event(observation) + observation->event_bytes;
}
const char *observation_outcome_text(enum observation_outcome outcome);

// The context that a message bears. False: none.
bool observation_read_context(const struct message *message, struct trace_context *out);
// Of a message that agents answer; `callee`: a name that is kept with it. NULL without memory.
struct observation *observation_begin(struct shard *shard, const struct message *message,
                                      struct trace_text callee);
// Keeps so many bytes of the body, or without memory none.
void observation_keep_body(struct shard *shard, struct observation *observation,
                           const struct message *message, size_t bytes);
// Gives it back.
void observation_give(struct shard *shard, struct observation *observation);

// Names the agent that the message is for, before it is known whether the agent gets the message. `agent`: the one that was
// chosen; NULL: the one that the message names, if it is here.
void observation_name_target(struct shard *shard, struct observation *observation,
                             const struct message *message, const struct agent *agent);
// The message goes to this agent; NULL: to other hubs. `pending`: the request, or NULL.
void observation_forward(struct shard *shard, struct observation *observation, const struct agent *agent,
                         const struct pending *pending);
// Its frame went to the kernel, at this time of a shard (shard_us).
void observation_sent(struct shard *shard, struct observation *observation, uint32_t sent_us);
// The message was refused, or ended by the hub; ERROR_NONE: its source has left.
void observation_refuse(struct shard *shard, struct observation *observation, enum error error);
// The hub has answered the request with a result of its own.
void observation_answer(struct shard *shard, struct observation *observation);
// The request has ended so.
void observation_end(struct shard *shard, struct observation *observation, const struct pending *pending,
                     const struct request_end *end);
