#include "router/features/observe/request_span.h"

#include <assert.h>
#include <string.h>

#include "core/rights/users.h"
#include "router/engine/shard/feature_call.h"

// --- Sampling

bool request_span_has_flag(struct shard *shard, const struct message *message) {
    struct trace_context context;
    assert(trace_is_on(shard) && message->lookup.verdict == LOOKUP_GOOD);
    bool has_context = observation_read_context(message, &context);
    return (has_context ? context.sampled : trace_draws(shard)) && trace_admits(shard);
}

// --- What it calls

// Decodes the name of a callee, a parameter of the message. Returns its bytes; 0 if the parameter is no string.
static size_t name_of(const struct message *message, struct json_item item, char name[TRACE_TEXT_BYTES_MAX]) {
    assert(message->lookup.verdict == LOOKUP_GOOD);
    if (item.type != JSON_STRING)
        return 0;
    return json_string_decode_begin(message->body, item.value, name, TRACE_TEXT_BYTES_MAX);
}

enum trace_callee request_span_callee(const struct shard *shard, const struct message *message,
                                      const struct agent *agent, char name[TRACE_TEXT_BYTES_MAX],
                                      size_t *name_bytes) {
    bool is_mcp = agent && agent->child && feature_has_tools(shard, agent->id, agent->id_bytes);
    *name_bytes = 0;
    if (message_method_is(message, "tools/call")) {
        *name_bytes = name_of(message, message_param(message, "name"), name);
        return is_mcp ? TRACE_CALLEE_MCP_TOOL : TRACE_CALLEE_TOOL;
    }
    if (message_method_is(message, "tool/integration")) {
        *name_bytes = name_of(message, message_param(message, "tool"), name);
        return TRACE_CALLEE_TOOL;
    }
    if (message_method_is(message, "prompts/get")) {
        *name_bytes = name_of(message, message_param(message, "name"), name);
        return is_mcp ? TRACE_CALLEE_MCP_PROMPT : TRACE_CALLEE_NONE;
    }
    return is_mcp && message_method_is(message, "resources/read") ? TRACE_CALLEE_MCP : TRACE_CALLEE_NONE;
}

void request_span_choose(struct shard *shard, struct observation *observation, const struct message *message,
                         const struct agent *agent) {
    char name[TRACE_TEXT_BYTES_MAX];
    size_t name_bytes;
    assert(observation->is_sampled);
    observation->callee = request_span_callee(shard, message, agent, name, &name_bytes);
    assert(name_bytes == observation->callee_bytes);
}

// --- Its name

void request_span_begin(struct shard *shard, struct observation *observation) {
    bool has_context = observation->trace.trace[0] != 0;
    assert(!observation->is_sampled && observation->kind == OBSERVED_REQUEST);
    observation->is_sampled = true;
    trace_name(shard, has_context ? NULL : observation->trace.trace, observation->span);
    if (!has_context)
        observation->trace.parent[0] = 0;
}

// --- In the place of its parent

static uint8_t *block_of(const struct message *message) {
    return message->frame->buffer->bytes + message->frame->at;
}

static struct trace_places places_of(const struct observation *observation, const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    const struct unit *unit = message->frame->unit;
    bool has_meta = lookup_has(lookup, KEY_META) && lookup->type[KEY_META] == JSON_OBJECT;
    return trace_context_places(message->body, has_meta ? lookup->value[KEY_META] : (struct span){0},
                                block_of(message), unit->length_line_bytes ? unit->body_at : 0,
                                &observation->trace);
}

// The body belongs to this message alone. Other messages of an array may share the header block, so the block's offset
// is kept to put the parent back.
void request_span_put(struct observation *observation, const struct message *message) {
    assert(observation->is_sampled && !observation->block_at);
    if (!observation->trace.parent[0])
        return;
    struct trace_places places = places_of(observation, message);
    uint8_t *body = message->frame->buffer->bytes + message->frame->body.at, *block = block_of(message);
    if (places.in_body)
        trace_context_write_parent(body + places.in_body, observation->span);
    if (places.in_block)
        trace_context_write_parent(block + places.in_block, observation->span);
    bool is_shared = message->frame->body.bytes != message->frame->unit->body_bytes;
    observation->block_at = is_shared ? places.in_block : 0;
    observation->body_at = places.in_body;
}

// Writes a parent in the body of the message, if the span took the place of one there.
static void write_in_body(const struct observation *observation, const struct message *message,
                          const char parent[TRACE_PARENT_DIGITS]) {
    if (!observation->body_at)
        return;
    assert(observation->is_sampled && observation->body_at < message->frame->body.bytes);
    trace_context_write_parent(message->frame->buffer->bytes + message->frame->body.at + observation->body_at,
                               parent);
}

void request_span_hide(const struct observation *observation, const struct message *message) {
    write_in_body(observation, message, observation->trace.parent);
}

void request_span_show(const struct observation *observation, const struct message *message) {
    write_in_body(observation, message, observation->span);
}

void request_span_put_back(struct observation *observation, const struct message *message,
                           struct parcel *parcel) {
    if (!observation->block_at)
        return;
    assert(observation->is_sampled && observation->trace.parent[0]);
    if (parcel && parcel->block && !parcel->has_head)
        (void)parcel_copy_block(parcel); // without memory the target gets its source's span as the parent
    trace_context_write_parent(block_of(message) + observation->block_at, observation->trace.parent);
    observation->block_at = 0;
}

void request_span_put_for_good(struct observation *observation, const struct message *message) {
    request_span_put(observation, message);
    if (!observation->block_at)
        return;
    request_span_hide(observation, message);
    request_span_put_back(observation, message, NULL);
}

// --- Its end

// Returns the text of a label that names an agent. Returns an empty text for a label that begins with # or @.
static struct trace_text agent_text(const char *label, size_t bytes) {
    bool is_agent = bytes > 0 && label[0] != '#' && label[0] != '@';
    return (struct trace_text){label, is_agent ? bytes : 0};
}

// Returns the text of a request's id: of a string without quotes and escapes, else as it is written.
static struct trace_text id_text(const struct observation *observation, char out[TRACE_TEXT_BYTES_MAX]) {
    const char *id = observation_id(observation);
    struct span whole = {0, observation->id_bytes};
    if (observation->id_bytes == 0 || id[0] != '"')
        return (struct trace_text){id, observation->id_bytes};
    size_t bytes = json_string_decode_begin((const uint8_t *)id, whole, out, TRACE_TEXT_BYTES_MAX);
    return (struct trace_text){out, bytes};
}

// Sets the span's times, in rising order. All count from the wall clock at the time when the request was taken in.
static void put_times(struct trace_span *span, const struct observation *observation) {
    uint64_t came = observation->came_ns, last = came, base = observation->wall_ns - came;
    span->began_ns = observation->wall_ns;
    if (observation->sent_ns) {
        last = observation->sent_ns > last ? observation->sent_ns : last;
        span->sent_ns = base + last;
    }
    if (observation->answered_ns) {
        last = observation->answered_ns > last ? observation->answered_ns : last;
        span->answered_ns = base + last;
    }
    last = observation->ended_ns > last ? observation->ended_ns : last;
    span->ended_ns = base + last;
}

static bool is_error(const struct observation *observation) {
    return observation->outcome == OUTCOME_ERROR || (observation->has_code && observation->by_hub);
}

void request_span_end(struct shard *shard, const struct observation *observation) {
    char id[TRACE_TEXT_BYTES_MAX];
    assert(observation->is_sampled && observation->outcome != OUTCOME_NONE);
    const char *user = observation->user ? observation->user->name : "";
    struct trace_span span = {
        .trace = observation->trace.trace,
        .id = observation->span,
        .parent = observation->trace.parent[0] ? observation->trace.parent : NULL,
        .method = {observation_method(observation), observation->method_bytes},
        .request_id = id_text(observation, id),
        .source = agent_text(observation_source(observation), observation->source_bytes),
        .target = agent_text(observation->target, observation->target_bytes),
        .user = {user, strlen(user)},
        .callee = observation->callee,
        .callee_name = {observation_callee(observation), observation->callee_bytes},
        .request_bytes = observation->bytes,
        .response_bytes = observation->answer_bytes,
        .has_response = observation->answered_ns > 0,
        .is_error = is_error(observation),
        .is_by_hub = observation->by_hub,
        .has_code = observation->has_code,
        .code = observation->code,
    };
    put_times(&span, observation);
    trace_span_put(trace_text_begin(shard), &span);
    trace_submit(shard);
}
