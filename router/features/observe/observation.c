#include "router/features/observe/observation.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/message/error_target.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"
#include "router/features/observe/observe_types.h"

const char *observation_outcome_text(enum observation_outcome outcome) {
    static const char *const texts[OUTCOMES_COUNT] = {
#define X(name, text) [name] = text,
        OBSERVATION_OUTCOMES(X)
#undef X
    };
    assert(outcome < OUTCOMES_COUNT);
    return texts[outcome];
}

// --- Names

static uint64_t source_of(const struct message *message) {
    return message->unrouted ? message->unrouted->connection : message->peer->connection_id;
}

static const struct user *user_of(const struct message *message) {
    return message->unrouted ? message->unrouted->user
           : message->origin ? message->origin->user
                             : identity_user(message->peer);
}

static uint32_t put_number(char *out, uint64_t connection) {
    assert(connection);
    out[0] = '#';
    return 1 + (uint32_t)text_digits(out + 1, connection);
}

static uint32_t put_agent(char *out, const struct agent *agent) {
    size_t bytes = agent->pool_bytes ? agent->pool_bytes : agent->id_bytes;
    assert(bytes <= OBSERVED_TARGET_BYTES);
    memcpy(out, agent->id, bytes);
    return (uint32_t)bytes;
}

// Writes the source of a message: the agent that the message names if the connection has that agent, else the first
// agent of the connection, else the connection's number. Returns the bytes.
static uint32_t put_source(struct shard *shard, const struct message *message,
                           char out[OBSERVED_TARGET_BYTES]) {
    const struct agent *agent = agents_one_at(&shard->agents, source_of(message));
    const struct lookup *lookup = &message->lookup;
    if (message->origin) {
        memcpy(out, message->origin->agent, message->origin->agent_bytes);
        return message->origin->agent_bytes;
    }
    if (agent && lookup_has(lookup, KEY_SOURCE_AGENT) && lookup->type[KEY_SOURCE_AGENT] == JSON_STRING) {
        size_t bytes =
            json_string_decode(message->body, lookup->value[KEY_SOURCE_AGENT], out, AGENT_ID_BYTES_MAX);
        const struct agent *named = bytes == SIZE_MAX ? NULL : agents_find(&shard->agents, out, bytes);
        agent = named && named->registrant == agent->registrant ? named : agent;
    }
    return agent ? put_agent(out, agent) : put_number(out, source_of(message));
}

static void put_target(struct observation *observation, const struct pending *pending,
                       const struct agent *agent) {
    assert(!pending || pending->used);
    char name[METHOD_BYTES_MAX];
    bool is_remote = !agent && pending && pending->named_target_bytes;
    bool is_group = is_remote && error_target_kind(pending) == SUBJECT_CAPABILITY;
    size_t bytes = is_remote ? error_target_name(pending, name) : SIZE_MAX;
    if (agent) {
        observation->target_bytes = put_agent(observation->target, agent);
    } else if (bytes != SIZE_MAX) {
        observation->target[0] = '@';
        memcpy(observation->target + is_group, name, bytes);
        observation->target_bytes = (uint32_t)(bytes + is_group);
    } else if (pending) {
        observation->target_bytes = put_number(observation->target, pending->target);
    }
}

void observation_name_target(struct shard *shard, struct observation *observation,
                             const struct message *message, const struct agent *agent) {
    const struct lookup *lookup = &message->lookup;
    char name[AGENT_ID_BYTES_MAX];
    size_t bytes = SIZE_MAX;
    assert(!observation->ended_ns);
    if (!agent && lookup_has(lookup, KEY_TARGET_AGENT) && lookup->type[KEY_TARGET_AGENT] == JSON_STRING)
        bytes = json_string_decode(message->body, lookup->value[KEY_TARGET_AGENT], name, sizeof name);
    if (bytes != SIZE_MAX)
        agent = agents_find(&shard->agents, name, bytes);
    else if (message->unrouted && message->unrouted->target_bytes)
        agent = agents_find(&shard->agents, message->unrouted->target, message->unrouted->target_bytes);
    if (agent)
        observation->target_bytes = put_agent(observation->target, agent);
}

// --- Begin and end

static size_t event_of(const struct message *message, char out[EVENT_BYTES_MAX]) {
    const struct lookup *lookup = &message->lookup;
    if (!message_method_is(message, "event") || !lookup_has(lookup, KEY_EVENT) ||
        lookup->type[KEY_EVENT] != JSON_STRING)
        return 0;
    return json_string_decode_begin(message->body, lookup->value[KEY_EVENT], out, EVENT_BYTES_MAX);
}

// Returns the header lines that came with the message; bytes 0: none. In an HTTP request that was refused before it was
// made a frame, the lines follow the request line.
static struct piece header_of(const struct message *message) {
    const struct frame *frame = message->frame;
    const uint8_t *head = frame->buffer->bytes + frame->at, *end = head + frame->unit->body_at;
    if (!message->unrouted)
        return (struct piece){head, frame->unit->length_line_bytes ? frame->unit->body_at : 0};
    const uint8_t *line = memchr(head, '\n', frame->unit->body_at);
    const uint8_t *lines = frame->unit->length_line_bytes || !line ? head : line + 1;
    return (struct piece){lines, line ? (size_t)(end - lines) : 0};
}

bool observation_read_context(const struct message *message, struct trace_context *out) {
    const struct lookup *lookup = &message->lookup;
    bool has_meta = lookup_has(lookup, KEY_META) && lookup->type[KEY_META] == JSON_OBJECT;
    struct piece header = header_of(message);
    assert(lookup->verdict == LOOKUP_GOOD);
    return trace_context_find(message->body, has_meta ? lookup->value[KEY_META] : (struct span){0},
                              header.bytes, (uint32_t)header.count, out);
}

// Returns when a message was taken in. A message that was held, or that waited while the hub asked its program, came
// before this turn.
static uint64_t came_ns(const struct shard *shard, const struct message *message) {
    uint64_t now_ns = io_now(shard->io);
    uint64_t came_ns = message->hold       ? message->hold->since_ms * 1000000
                       : message->unrouted ? message->unrouted->arrived_ms * 1000000
                                           : now_ns;
    return came_ns < now_ns ? came_ns : now_ns;
}

// Returns the wall clock's time at a past time of the shards' clock. The thread may lose the processor between two
// readings, so the closest of a few pairs counts.
static uint64_t wall_ns_at(const struct shard *shard, uint64_t clock_ns) {
    enum { PAIRS = 4, CLOSE_NS = 100000 };
    uint64_t closest_ns = UINT64_MAX, result = 0;
    for (unsigned pair = 0; pair < PAIRS && closest_ns > CLOSE_NS; pair++) {
        uint64_t before_ns = io_clock(shard->io), wall_ns = io_wall_ns(shard->io);
        uint64_t took_ns = io_clock(shard->io) - before_ns;
        assert(before_ns >= clock_ns);
        if (took_ns > closest_ns)
            continue;
        closest_ns = took_ns;
        result = wall_ns - (before_ns - clock_ns);
    }
    return result;
}

// Copies a text, and returns the end of the copy. `text` may be NULL if `bytes` is 0.
static char *append(char *at, const void *text, size_t bytes) {
    if (bytes)
        memcpy(at, text, bytes);
    return at + bytes;
}

struct observation *observation_begin(struct shard *shard, const struct message *message,
                                      struct trace_text callee) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    char source[OBSERVED_TARGET_BYTES], event[EVENT_BYTES_MAX], method[TRACE_TEXT_BYTES_MAX];
    const char *name = message->method;
    size_t method_bytes = message->method_bytes, event_bytes = event_of(message, event);
    uint32_t source_bytes = put_source(shard, message, source);
    struct span id = message_is_request(message) ? message->lookup.value[KEY_ID] : (struct span){0};
    if (message->method_long) {
        method_bytes = message_method_begin(message, method, sizeof method);
        name = method;
    }
    struct observation *observation =
        quota_take(&shard->quota,
                   sizeof *observation + method_bytes + source_bytes + id.bytes + event_bytes + callee.count);
    if (!observation)
        return NULL;
    *observation = (struct observation){
        .kind = event_bytes && !message_has_target(message) ? OBSERVED_EVENT
                : message_is_request(message)               ? OBSERVED_REQUEST
                                                            : OBSERVED_NOTIFICATION,
        .number = ++observe_of(shard)->number * shard->hub->start_settings.shard_count + shard->index,
        .came_ns = came_ns(shard, message),
        .source = source_of(message),
        .user = user_of(message),
        .bytes = message->frame->body.bytes,
        .is_mcp = message->unrouted || (message->exchange && message->exchange->is_mcp),
        .method_bytes = (uint32_t)method_bytes,
        .source_bytes = source_bytes,
        .id_bytes = id.bytes,
        .event_bytes = (uint32_t)event_bytes,
        .callee_bytes = (uint32_t)callee.count,
    };
    observation->wall_ns = wall_ns_at(shard, observation->came_ns);
    if (!observation_read_context(message, &observation->trace))
        observation->trace.trace[0] = 0;
    char *at = append(observation->texts, name, method_bytes);
    at = append(at, source, source_bytes);
    at = append(at, message->body + id.at, id.bytes);
    at = append(at, event, event_bytes);
    append(at, callee.bytes, callee.count);
    return observation;
}

void observation_keep_body(struct shard *shard, struct observation *observation,
                           const struct message *message, size_t bytes) {
    assert(!observation->body && bytes <= message->frame->body.bytes);
    observation->body = bytes ? quota_take(&shard->quota, bytes) : NULL;
    if (!observation->body)
        return;
    observation->body_bytes = (uint32_t)bytes;
    memcpy(observation->body, message->body, bytes);
}

void observation_give(struct shard *shard, struct observation *observation) {
    quota_give(&shard->quota, observation->body);
    quota_give(&shard->quota, observation);
}

// Returns the time of a stamp, which has the low bits of a clock that all shards share. The time may be a little later
// than this shard's turn.
static uint64_t time_of(const struct shard *shard, uint32_t us) {
    uint64_t now_ns = io_now(shard->io);
    int32_t ago_us = (int32_t)(shard_us(now_ns) - us);
    return now_ns - (uint64_t)((int64_t)ago_us * 1000);
}

void observation_forward(struct shard *shard, struct observation *observation, const struct agent *agent,
                         const struct pending *pending) {
    assert(!observation->answered_ns && !observation->ended_ns);
    observation->outcome = observation->kind == OBSERVED_REQUEST ? OUTCOME_NONE : OUTCOME_DELIVERED;
    observation->queued_ns = io_now(shard->io);
    if (pending)
        observation->hub_id = pending_hub_id(&shard->pending, pending);
    put_target(observation, pending, agent);
}

void observation_sent(struct shard *shard, struct observation *observation, uint32_t sent_us) {
    assert(observation->queued_ns && observation->kind == OBSERVED_REQUEST);
    observation->sent_ns = time_of(shard, sent_us);
}

// --- Outcomes

static enum observation_outcome outcome_of(const struct observation *observation, enum error error) {
    bool is_request = observation->kind == OBSERVED_REQUEST, was_forwarded = observation->queued_ns > 0;
    switch (error) {
    case ERROR_NONE:
        return OUTCOME_SOURCE_LEFT;
    case ERROR_TIMED_OUT:
        return OUTCOME_TIMED_OUT;
    case ERROR_CANCELLED:
        return OUTCOME_CANCELLED;
    case ERROR_TARGET_DISCONNECTED:
        return is_request ? was_forwarded ? OUTCOME_TARGET_LEFT : OUTCOME_REFUSED : OUTCOME_DROPPED;
    case ERROR_METHOD_NOT_FOUND:
    case ERROR_AGENT_NOT_FOUND:
    case ERROR_TOOL:
    case ERROR_OVERLOADED:
        return is_request ? OUTCOME_REFUSED : OUTCOME_DROPPED;
    case ERROR_INTERNAL:
    case ERROR_FRAME_TOO_LARGE:
        return was_forwarded ? OUTCOME_ERROR : OUTCOME_REFUSED;
    default:
        return OUTCOME_REFUSED;
    }
}

static void set_code(struct observation *observation, enum error error) {
    assert(error > ERROR_NONE && error < ERRORS_COUNT);
    observation->has_code = true;
    observation->code = observation->is_mcp ? error_code_mcp(error) : error_code(error);
}

void observation_refuse(struct shard *shard, struct observation *observation, enum error error) {
    assert(observation->outcome == OUTCOME_NONE || observation->kind != OBSERVED_REQUEST);
    observation->ended_ns = io_clock(shard->io);
    observation->outcome = outcome_of(observation, error);
    observation->by_hub = true;
    if (error && !(observation->is_mcp && error == ERROR_CANCELLED)) // which MCP doesn't answer
        set_code(observation, error);
}

void observation_answer(struct shard *shard, struct observation *observation) {
    assert(observation->outcome == OUTCOME_NONE && observation->kind == OBSERVED_REQUEST);
    observation->ended_ns = io_clock(shard->io);
    observation->outcome = OUTCOME_RESULT;
    observation->by_hub = true;
}

static void read_code(struct observation *observation, const uint8_t *body, uint32_t bytes) {
    struct json_item error = json_member(body, (struct span){0, bytes}, "error"), code = {0};
    uint64_t number;
    if (error.type == JSON_OBJECT)
        code = json_member(body, error.value, "code");
    if (code.type != JSON_NUMBER)
        return;
    bool is_negative = body[code.value.at] == '-';
    struct span digits = {code.value.at + is_negative, code.value.bytes - is_negative};
    if (!json_number_whole(body, digits, &number) || number > INT64_MAX)
        return;
    observation->has_code = true;
    observation->code = is_negative ? -(int64_t)number : (int64_t)number;
}

static void read_answer(struct shard *shard, struct observation *observation, const struct parcel *parcel,
                        bool is_error) {
    assert(parcel->hole_count == 0);
    observation->ended_ns = io_clock(shard->io);
    observation->answered_ns = time_of(shard, parcel->mail.came_us);
    observation->outcome = is_error ? OUTCOME_ERROR : OUTCOME_RESULT;
    observation->answer_bytes = parcel->body.bytes;
    if (is_error && parcel->buffer)
        read_code(observation, parcel->buffer->bytes + parcel->body.at, parcel->body.bytes);
}

// A cancelled request ends without an answer where its target sends none after a cancel. Its outcome is `cancelled` if
// the source is still there.
void observation_end(struct shard *shard, struct observation *observation, const struct pending *pending,
                     const struct request_end *end) {
    assert(observation->hub_id == pending_hub_id(&shard->pending, pending));
    if (end->response) {
        read_answer(shard, observation, end->response, end->is_error);
        return;
    }
    observation_refuse(shard, observation, (enum error)end->error);
    if (end->error) // the source got an answer, a cancel of MCP by the end of its session too
        set_code(observation, (enum error)end->error);
    if (end->is_abandoned && pending->cancelled && peer_find(shard, pending->source))
        observation->outcome = OUTCOME_CANCELLED;
    else if (!end->is_abandoned && end->error == ERROR_NONE)
        observation->outcome = OUTCOME_RESULT;
}
