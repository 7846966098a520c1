// Observations: what the hub notes of one message for taps, for the log of slow requests and for a span.
//
// The observation of a request that goes to an agent is kept with the pending request, which owns the observation. The
// observation of a message that ends at once is freed at once. A field without a known value is 0.
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
    bool by_hub;                      // the hub made the answer, and no target
    bool is_told;                     // taps have been told that the request was taken in
    bool is_mcp;                      // the hub's codes are MCP's (error_code_mcp)
    bool has_code;
    int64_t code;     // of the error
    uint64_t number;  // no other message of this hub has the same
    uint64_t wall_ns; // when the message was taken in, since 1970
    // Times of the shards' clock; 0: unknown.
    uint64_t came_ns;     // the message was taken in
    uint64_t queued_ns;   // the message was put in its target's queue
    uint64_t sent_ns;     // the frame was handed to the kernel
    uint64_t answered_ns; // the answer was taken in
    uint64_t ended_ns;
    uint64_t source;         // its connection
    uint64_t hub_id;         // 0: the request was not forwarded
    const struct user *user; // or NULL
    uint64_t bytes, answer_bytes;
    struct trace_context trace; // the parent has no digits if the span is the first of its trace
    bool is_sampled;            // the request has a span (request_span.h) and the fields down to body_at
    char span[TRACE_PARENT_DIGITS];
    enum trace_callee callee;
    uint32_t block_at;  // offset of the span in a header block that other messages share; 0: none
    uint32_t body_at;   // offset of the span in the body, where its parent stood; 0: none
    uint64_t delivered; // deliveries of an event
    char *body;         // of an event, as much as a tap wants; or NULL
    uint32_t body_bytes;
    uint32_t target_bytes;
    char target[OBSERVED_TARGET_BYTES]; // an agentId, or `#` and a connection's number; bytes 0: unknown
    // Lengths of the parts of `texts`, in the order of these fields.
    uint32_t method_bytes, source_bytes, id_bytes, event_bytes, callee_bytes;
    char texts[];
};

static inline const char *observation_method(const struct observation *observation) {
    return observation->texts;
}
static inline const char *observation_source(const struct observation *observation) {
    return observation->texts + observation->method_bytes;
}
// Returns the id that the source chose, as JSON.
static inline const char *observation_id(const struct observation *observation) {
    return observation_source(observation) + observation->source_bytes;
}
static inline const char *observation_event(const struct observation *observation) {
    return observation_id(observation) + observation->id_bytes;
}
// Returns the name of the callee (request_span.h).
static inline const char *observation_callee(const struct observation *observation) {
    return observation_event(observation) + observation->event_bytes;
}
const char *observation_outcome_text(enum observation_outcome outcome);

// Reads the trace context of a message. Returns false if there is none.
bool observation_read_context(const struct message *message, struct trace_context *out);
// Makes the observation of a message. `callee` is a name that the observation keeps; count 0: none. Returns NULL
// without memory.
struct observation *observation_begin(struct shard *shard, const struct message *message,
                                      struct trace_text callee);
// Copies so many bytes of the body into the observation; none without memory.
void observation_keep_body(struct shard *shard, struct observation *observation,
                           const struct message *message, size_t bytes);
// Frees an observation.
void observation_give(struct shard *shard, struct observation *observation);

// Notes the target of a message before the target gets it. `agent` is the chosen agent; NULL: the agent that the
// message names, if that agent is here.
void observation_name_target(struct shard *shard, struct observation *observation,
                             const struct message *message, const struct agent *agent);
// Notes that the message goes to this agent; NULL: to other hubs. `pending` is the request; NULL for other messages.
void observation_forward(struct shard *shard, struct observation *observation, const struct agent *agent,
                         const struct pending *pending);
// Notes when the frame of a request went to the kernel (shard_us).
void observation_sent(struct shard *shard, struct observation *observation, uint32_t sent_us);
// Notes that the hub refused or ended the message with this error; ERROR_NONE: its source has left.
void observation_refuse(struct shard *shard, struct observation *observation, enum error error);
// Notes that the hub answered the request with its own result.
void observation_answer(struct shard *shard, struct observation *observation);
// Notes how a forwarded request ended.
void observation_end(struct shard *shard, struct observation *observation, const struct pending *pending,
                     const struct request_end *end);
