#include "router/features/mcp_http/mcp_header_rules.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "router/features/mcp_http/mcp_reply.h"

enum { TEXT_BYTES_MAX = 8 << 10 };

bool mcp_header_is_modern(const struct mcp_post *post) {
    struct span version = post->http->fields[HTTP_MCP_PROTOCOL_VERSION];
    bool given = http_has_field(post->http, HTTP_MCP_PROTOCOL_VERSION);
    bool is_legacy = given && !http_repeated(post->http, HTTP_MCP_PROTOCOL_VERSION) &&
                     mcp_legacy_version((const char *)post->head + version.at, version.bytes);
    return (given && !is_legacy) || post->meta[MCP_POST_VERSION].type != JSON_NONE ||
           post->method == MCP_DISCOVER;
}

// --- Values

static int sextet_of(uint8_t letter) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = letter ? strchr(alphabet, letter) : NULL;
    return at ? (int)(at - alphabet) : -1;
}

// Decodes base64 and returns the length; SIZE_MAX: the text is no base64, or is too long.
static size_t decode_base64(const uint8_t *text, size_t bytes, char *out, size_t capacity) {
    assert(text || bytes == 0);
    size_t count = 0, padding = 0;
    uint32_t bits = 0, held = 0;
    if (bytes % 4)
        return SIZE_MAX;
    while (padding < 2 && bytes > 0 && text[bytes - 1] == '=') {
        bytes--;
        padding++;
    }
    for (size_t at = 0; at < bytes; at++) {
        int sextet = sextet_of(text[at]);
        if (sextet < 0)
            return SIZE_MAX;
        bits = (bits << 6 | (uint32_t)sextet) & 0xffff;
        held += 6;
        if (held < 8)
            continue;
        if (count == capacity)
            return SIZE_MAX;
        held -= 8;
        out[count++] = (char)(bits >> held & 0xff);
    }
    return count;
}

static bool is_visible(const uint8_t *text, size_t bytes) {
    for (size_t at = 0; at < bytes; at++)
        if ((text[at] < ' ' && text[at] != '\t') || text[at] > '~')
            return false;
    return true;
}

// Decodes a field's value: =?base64?…?= stands for bytes that a header field can't have. Returns SIZE_MAX if the value
// is malformed or too long.
static size_t decode(const uint8_t *text, size_t bytes, char *out, size_t capacity) {
    static const char before[] = "=?base64?", behind[] = "?=";
    enum { BEFORE = sizeof before - 1, BEHIND = sizeof behind - 1 };
    if (bytes >= BEFORE + BEHIND && memcmp(text, before, BEFORE) == 0 &&
        memcmp(text + bytes - BEHIND, behind, BEHIND) == 0)
        return decode_base64(text + BEFORE, bytes - BEFORE - BEHIND, out, capacity);
    if (bytes > capacity || !is_visible(text, bytes))
        return SIZE_MAX;
    memcpy(out, text, bytes);
    return bytes;
}

// Returns whether a field occurs once and equals a string of the body.
static bool field_is_item(const struct mcp_post *post, enum http_field field, const struct json_item *item) {
    char given[TEXT_BYTES_MAX], expected[TEXT_BYTES_MAX];
    struct span value = post->http->fields[field];
    if (!http_has_field(post->http, field) || http_repeated(post->http, field))
        return false;
    size_t given_bytes = decode(post->head + value.at, value.bytes, given, sizeof given);
    size_t bytes = mcp_post_text(post, item, expected, sizeof expected);
    return given_bytes != SIZE_MAX && bytes == given_bytes && memcmp(given, expected, bytes) == 0;
}

// Returns whether a field's value equals an argument. Numbers are compared by value.
static bool value_is_argument(const struct mcp_post *post, struct span value,
                              const struct json_item *argument) {
    char given[TEXT_BYTES_MAX + BUFFER_SLACK_BYTES], expected[TEXT_BYTES_MAX];
    const uint8_t *body = post->message.body;
    size_t bytes = decode(post->head + value.at, value.bytes, given, TEXT_BYTES_MAX), expected_bytes;
    if (bytes == SIZE_MAX)
        return false;
    switch (argument->type) {
    case JSON_STRING:
        expected_bytes = json_string_decode(body, argument->value, expected, sizeof expected);
        return expected_bytes == bytes && memcmp(given, expected, bytes) == 0;
    case JSON_NUMBER: {
        struct span number = {0, (uint32_t)bytes};
        memset(given + bytes, 0, BUFFER_SLACK_BYTES);
        return json_number_valid((const uint8_t *)given, number) &&
               json_same((const uint8_t *)given, number, body, argument->value);
    }
    case JSON_TRUE:
        return bytes == 4 && memcmp(given, "true", 4) == 0;
    case JSON_FALSE:
        return bytes == 5 && memcmp(given, "false", 5) == 0;
    default: // no field can mirror an object or array
        return false;
    }
}

bool mcp_header_mirrors(const struct mcp_post *post, const char *field, size_t bytes,
                        const struct json_item *argument) {
    static const char prefix[] = "mcp-param-";
    struct span name, value, found = {0};
    uint32_t at = 0, count = 0;
    assert(post->head && bytes > 0);
    while (http_next_with(post->head, &post->unit, &at, prefix, &name, &value)) {
        const char *own = (const char *)post->head + name.at + sizeof prefix - 1;
        if (name.bytes != sizeof prefix - 1 + bytes || strncasecmp(own, field, bytes) != 0)
            continue;
        found = value;
        count++;
    }
    if (argument->type == JSON_NONE || argument->type == JSON_NULL)
        return count == 0;
    return count == 1 && value_is_argument(post, found, argument);
}

// --- Faults

bool mcp_header_refuse(struct shard *shard, const struct mcp_post *post, const char *fault) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", fault);
    mcp_reply_code(shard, post, MCP_HEADER_MISMATCH, "header mismatch", &data);
    return false;
}

static bool refuse_meta(struct shard *shard, const struct mcp_post *post) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", "params._meta");
    reply_data_text(&data, "expected", "io.modelcontextprotocol/protocolVersion and clientCapabilities");
    mcp_reply_error(shard, post, 400, ERROR_INVALID_PARAMS, &data);
    return false;
}

static bool refuse_version(struct shard *shard, const struct mcp_post *post) {
    struct span version = post->http->fields[HTTP_MCP_PROTOCOL_VERSION];
    struct text data;
    text_init(&data);
    reply_data_string(&data, "requested", post->head + version.at, version.bytes);
    text_put(&data, ",\"supported\":[\"" MCP_MODERN_VERSION "\"]");
    mcp_reply_code(shard, post, MCP_UNSUPPORTED_VERSION, "unsupported protocol version", &data);
    return false;
}

static bool has_meta(const struct mcp_post *post) {
    return post->meta[MCP_POST_VERSION].type == JSON_STRING &&
           post->meta[MCP_POST_CAPABILITIES].type == JSON_OBJECT;
}

// Returns the member of params that Mcp-Name must equal; NULL: none.
static const struct json_item *subject_of(const struct mcp_post *post) {
    const struct message *message = &post->message;
    if (message_method_is(message, "tools/call") || message_method_is(message, "prompts/get"))
        return &post->params[MCP_PARAM_NAME];
    return message_method_is(message, "resources/read") ? &post->params[MCP_PARAM_URI] : NULL;
}

static bool method_fits(const struct mcp_post *post) {
    struct json_item method = {.value = post->message.lookup.value[KEY_METHOD], .type = JSON_STRING};
    return field_is_item(post, HTTP_MCP_METHOD, &method);
}

static bool judge_version(struct shard *shard, const struct mcp_post *post, bool is_request) {
    struct span version = post->http->fields[HTTP_MCP_PROTOCOL_VERSION];
    bool has_version = post->meta[MCP_POST_VERSION].type != JSON_NONE;
    if (!http_has_field(post->http, HTTP_MCP_PROTOCOL_VERSION))
        return mcp_header_refuse(shard, post, "MCP-Protocol-Version must be there");
    if (is_request && !has_meta(post))
        return refuse_meta(shard, post);
    if (http_repeated(post->http, HTTP_MCP_PROTOCOL_VERSION) ||
        ((is_request || has_version) &&
         !field_is_item(post, HTTP_MCP_PROTOCOL_VERSION, &post->meta[MCP_POST_VERSION])))
        return mcp_header_refuse(shard, post, "MCP-Protocol-Version must be what the body says");
    return http_span_is(post->head, version, MCP_MODERN_VERSION) || refuse_version(shard, post);
}

bool mcp_header_judge(struct shard *shard, const struct mcp_post *post) {
    const struct message *message = &post->message;
    assert(post->head && post->http);
    if (message->lookup.kind == BODY_RESPONSE) {
        struct text data;
        text_init(&data);
        reply_data_text(&data, "fault", "a response answers nothing in this era");
        mcp_reply_error(shard, post, 400, ERROR_INVALID_REQUEST, &data);
        return false;
    }
    bool is_request = message->lookup.kind == BODY_REQUEST;
    if (!judge_version(shard, post, is_request))
        return false;
    if (!method_fits(post))
        return mcp_header_refuse(shard, post, "Mcp-Method must be the method");
    const struct json_item *subject = is_request ? subject_of(post) : NULL;
    if (subject && !field_is_item(post, HTTP_MCP_NAME, subject))
        return mcp_header_refuse(shard, post, "Mcp-Name must be the name or the uri");
    if (!is_request || post->method != MCP_INITIALIZE)
        return true;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "method", "initialize");
    mcp_reply_error(shard, post, 404, ERROR_METHOD_NOT_FOUND, &data);
    return false;
}
