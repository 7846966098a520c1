#include "router/features/mcp_http/mcp_post.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "core/lookup/schema.h"
#include "core/wire/http_block.h"
#include "router/engine/request/validate.h"
#include "router/features/mcp_http/mcp_reply.h"

// --- The head

// Returns whether a range of media types has a weight above 0. A weight of 0 refuses the type (RFC 9110, section
// 12.4.2).
static bool has_weight(const uint8_t *text, size_t bytes) {
    for (size_t at = 0; at + 2 < bytes; at++) {
        if (text[at] != ';')
            continue;
        size_t key = at + 1;
        while (key < bytes && (text[key] == ' ' || text[key] == '\t'))
            key++;
        if (key + 2 >= bytes || (text[key] | 32) != 'q' || text[key + 1] != '=')
            continue;
        for (size_t digit = key + 2; digit < bytes && text[digit] != ';'; digit++)
            if (text[digit] >= '1' && text[digit] <= '9')
                return true;
        return false;
    }
    return true;
}

static bool range_is(const uint8_t *text, size_t bytes, const char *range) {
    return bytes == strlen(range) && strncasecmp((const char *)text, range, bytes) == 0;
}

// Whether a client takes a media type. The most specific range that matches the type decides (RFC 9110, section
// 12.5.1).
struct taking {
    int rank; // of that range: 0 no range, 1 all types, 2 a type and all its subtypes, 3 the type itself
    bool is_taken;
};

static void note_range(struct taking *taking, int rank, bool is_taken) {
    assert(rank >= 0 && rank <= 3);
    if (rank > taking->rank)
        *taking = (struct taking){rank, is_taken};
    else if (rank == taking->rank)
        taking->is_taken |= is_taken && rank > 0;
}

static void take_range(const uint8_t *text, size_t bytes, struct taking *json, struct taking *events) {
    assert(text);
    const uint8_t *end = bytes ? memchr(text, ';', bytes) : NULL;
    size_t type = end ? (size_t)(end - text) : bytes;
    while (type > 0 && (text[type - 1] == ' ' || text[type - 1] == '\t'))
        type--;
    bool is_taken = has_weight(text, bytes);
    int all = range_is(text, type, "*/*");
    note_range(json,
               range_is(text, type, "application/json") ? 3
               : range_is(text, type, "application/*")  ? 2
                                                        : all,
               is_taken);
    note_range(events,
               range_is(text, type, "text/event-stream") ? 3
               : range_is(text, type, "text/*")          ? 2
                                                         : all,
               is_taken);
}

// Takes the ranges of one Accept field.
static void take_ranges(const uint8_t *text, const uint8_t *end, struct taking *json, struct taking *events) {
    assert(text <= end);
    while (text < end) {
        const uint8_t *comma = memchr(text, ',', (size_t)(end - text));
        const uint8_t *stop = comma ? comma : end;
        while (text < stop && (*text == ' ' || *text == '\t'))
            text++;
        take_range(text, (size_t)(stop - text), json, events);
        text = comma ? comma + 1 : end;
    }
}

bool mcp_post_accepts(const struct mcp_arrival *arrival, bool *json, bool *events) {
    const struct http_request *request = &arrival->request;
    struct span name, value = request->fields[HTTP_ACCEPT];
    uint32_t at = 0;
    struct taking of_json = {.is_taken = !http_has_field(request, HTTP_ACCEPT)}, of_events = of_json;
    bool is_repeated = http_repeated(request, HTTP_ACCEPT);
    if (!is_repeated)
        take_ranges(arrival->head + value.at, arrival->head + value.at + value.bytes, &of_json, &of_events);
    while (is_repeated && http_next_with(arrival->head, arrival->frame->unit, &at, "accept", &name, &value))
        if (name.bytes == sizeof "accept" - 1)
            take_ranges(arrival->head + value.at, arrival->head + value.at + value.bytes, &of_json,
                        &of_events);
    *json = of_json.is_taken;
    *events = of_events.is_taken;
    return *json || *events;
}

// --- The body

static const char *const param_keys[MCP_PARAMS_COUNT] = {
#define X(param, text) [param] = text,
    MCP_PARAMS(X)
#undef X
};

static const char *const meta_keys[MCP_META_KEYS_COUNT] = {
#define X(key, text) [key] = text,
    MCP_META_KEYS(X)
#undef X
};

static bool is_plain(const uint8_t *body, struct span key, const char *text) {
    return key.bytes == strlen(text) + 2 && memcmp(body + key.at + 1, text, key.bytes - 2) == 0;
}

// Finds members of an object. Returns the first of the keys that occurs twice or is written with an escape; else NULL.
static const char *read_members(const uint8_t *body, struct span object, const char *const *keys,
                                size_t count, struct json_item *out) {
    struct json_walk walk;
    assert(object.bytes >= 2 && count > 0);
    json_walk_begin(&walk, body, object);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        for (size_t index = 0; index < count; index++) {
            bool plain = is_plain(body, item.key, keys[index]);
            if (!plain && !(memchr(body + item.key.at, '\\', item.key.bytes) &&
                            json_string_is(body, item.key, keys[index])))
                continue;
            if (!plain || out[index].type != JSON_NONE)
                return keys[index];
            out[index] = item;
        }
    }
    return NULL;
}

static const char *read_params(struct mcp_post *post) {
    const struct lookup *lookup = &post->message.lookup;
    const uint8_t *body = post->message.body;
    if (!lookup_has(lookup, KEY_PARAMS))
        return NULL;
    const char *twice =
        read_members(body, lookup->value[KEY_PARAMS], param_keys, MCP_PARAMS_COUNT, post->params);
    bool has_meta = lookup_has(lookup, KEY_META) && lookup->type[KEY_META] == JSON_OBJECT;
    if (!twice && has_meta)
        twice = read_members(body, lookup->value[KEY_META], meta_keys, MCP_META_KEYS_COUNT, post->meta);
    return twice;
}

static const char *const faults[] = {
    [LOOKUP_NOT_JSON] = "the body is not JSON",
    [LOOKUP_NOT_UTF8] = "the body is not UTF-8",
    [LOOKUP_TOO_DEEP] = "the body is nested too deeply",
    [LOOKUP_AMBIGUOUS] = "this key must occur once, in its own case and without escapes",
    [LOOKUP_NOT_MESSAGE] = "the body is neither a request, a notification nor a response",
    [LOOKUP_BAD_ID] = "an id must be a string or a number within the limit",
    [LOOKUP_GOOD] = "the body must be one message",
};

static bool refuse_status(struct shard *shard, struct mcp_post *post, unsigned status, enum error error,
                          const char *fault, const char *key) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", fault);
    if (key)
        reply_data_text(&data, "key", key);
    mcp_reply_error(shard, post, status, error, &data);
    return false;
}

static bool refuse(struct shard *shard, struct mcp_post *post, enum error error, const char *fault,
                   const char *key) {
    return refuse_status(shard, post, 400, error, fault, key);
}

// Refuses a request or notification of another version of JSON-RPC, in strict validation. Returns false if it was
// refused.
static bool judge_version(struct shard *shard, const struct mcp_post *post) {
    struct text data;
    if (!shard->settings->strict || schema_version_served(post->message.body, &post->message.lookup))
        return true;
    text_init(&data);
    reply_data_text(&data, "field", "jsonrpc");
    reply_data_text(&data, "expected", "2.0");
    mcp_reply_error(shard, post, 400, ERROR_INVALID_PARAMS, &data);
    return false;
}

static bool judge(struct shard *shard, struct mcp_post *post) {
    const struct lookup *lookup = &post->message.lookup;
    bool is_call = lookup->kind == BODY_REQUEST || lookup->kind == BODY_NOTIFICATION;
    if (lookup->verdict == LOOKUP_AMBIGUOUS)
        return refuse(shard, post, ERROR_INVALID_REQUEST, faults[lookup->verdict],
                      lookup_key_text(lookup->fault_key));
    if (lookup->verdict != LOOKUP_GOOD || (!is_call && lookup->kind != BODY_RESPONSE))
        return refuse(shard, post, lookup->verdict == LOOKUP_NOT_JSON ? ERROR_PARSE : ERROR_INVALID_REQUEST,
                      faults[lookup->verdict], NULL);
    if (lookup->kind != BODY_NOTIFICATION) {
        struct span id = lookup->value[KEY_ID];
        post->to = (struct reply_to){.id = post->message.body + id.at, .id_bytes = id.bytes};
    }
    if (!is_call)
        return true;
    if (!judge_version(shard, post))
        return false;
    if (lookup_has(lookup, KEY_PARAMS) && lookup->type[KEY_PARAMS] != JSON_OBJECT)
        return refuse(shard, post, ERROR_INVALID_REQUEST, "params must be an object", NULL);
    const char *twice = read_params(post);
    return !twice || refuse(shard, post, ERROR_INVALID_REQUEST, faults[LOOKUP_AMBIGUOUS], twice);
}

bool mcp_post_read(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post) {
    struct message *message = &post->message;
    memset(post, 0, offsetof(struct mcp_post, message));
    memset(&post->to, 0, sizeof *post - offsetof(struct mcp_post, to));
    post->exchange = arrival->exchange;
    post->head = arrival->head;
    post->http = &arrival->request;
    post->unit = *arrival->frame->unit;
    post->frame = *arrival->frame;
    post->frame.unit = &post->unit;
    post->method = MCP_OTHER;
    message_begin(message, NULL, NULL);
    message->lookup.kind = BODY_UNKNOWN;
    if (!mcp_post_accepts(arrival, &post->takes_json, &post->takes_events))
        return refuse_status(shard, post, 406, ERROR_INVALID_REQUEST,
                             "the answer is application/json or text/event-stream", NULL);
    if (post->unit.body_bytes == 0)
        return refuse(shard, post, ERROR_PARSE, "there is no body", NULL);
    validate_look_up(shard, message, &post->frame);
    if (!judge(shard, post))
        return false;
    if (message->lookup.kind == BODY_RESPONSE)
        return true;
    validate_read_method(message);
    if (!message->method_long)
        post->method = mcp_method(message->method, message->method_bytes);
    message_narrow(message);
    return true;
}

void mcp_post_read_server(struct mcp_post *post, const struct mcp_arrival *arrival) {
    struct span path = arrival->request.line.path;
    uint32_t before = sizeof "/mcp/" - 1;
    post->server_bytes = path.bytes > before ? path.bytes - before : 0;
    post->server = post->server_bytes ? (const char *)arrival->head + path.at + before : "";
}

void mcp_post_frame(struct mcp_post *post) {
    struct frame *frame = &post->frame;
    uint32_t at = frame->at + http_make_framed(frame->buffer->bytes + frame->at, &post->unit);
    *frame = frame_at(frame->buffer, at, &post->unit);
    assert(post->message.body == frame_body(frame));
    post->head = NULL;
    post->http = NULL;
}

size_t mcp_post_text(const struct mcp_post *post, const struct json_item *item, char *out, size_t capacity) {
    return item->type == JSON_STRING ? json_string_decode(post->message.body, item->value, out, capacity)
                                     : SIZE_MAX;
}
