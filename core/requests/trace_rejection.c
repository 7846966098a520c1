#include "core/requests/trace_rejection.h"

#include <assert.h>

#include "core/base/text.h"
#include "core/json/json.h"

enum state { AT_VALUE, AT_KEY, IN_KEY, AT_COLON, IN_STRING, IN_NUMBER, IN_OTHER, IN_CONTAINER, IS_KNOWN };
enum wanted { NOTHING, PARTIAL_SUCCESS, REJECTED_SPANS };

static void enter(struct trace_rejection *rejection, enum state state) {
    assert(state != IS_KNOWN);
    rejection->state = (uint8_t)state;
    rejection->bytes = 0;
}

static void finish(struct trace_rejection *rejection, uint64_t count) {
    assert(rejection->state != IS_KNOWN);
    rejection->state = IS_KNOWN;
    rejection->count = count;
}

// Adds a byte to the token. A longer token is cut: it is neither a wanted key nor a number.
static void add_byte(struct trace_rejection *rejection, uint8_t byte) {
    assert(rejection->bytes <= TRACE_REJECTION_TOKEN_BYTES);
    if (rejection->bytes < TRACE_REJECTION_TOKEN_BYTES)
        rejection->token[rejection->bytes++] = byte;
}

static bool is_space(uint8_t byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct span token_of(const struct trace_rejection *rejection) {
    return (struct span){0, rejection->bytes};
}

static void end_key(struct trace_rejection *rejection) {
    static const char *const keys[] = {NULL, "partialSuccess", "rejectedSpans"};
    assert(rejection->level == 1 || rejection->level == 2);
    bool is_wanted = json_string_is(rejection->token, token_of(rejection), keys[rejection->level]);
    rejection->wanted = is_wanted ? rejection->level : NOTHING;
    enter(rejection, AT_COLON);
}

// Ends the count's value. OTLP's JSON writes 64-bit numbers as strings, but some collectors write a number.
static void end_count(struct trace_rejection *rejection) {
    char digits[TRACE_REJECTION_TOKEN_BYTES];
    uint64_t number = 0;
    bool is_number = false;
    if (rejection->state == IN_NUMBER) {
        is_number = json_number_whole(rejection->token, token_of(rejection), &number);
    } else {
        size_t bytes = json_string_decode(rejection->token, token_of(rejection), digits, sizeof digits);
        is_number = bytes != SIZE_MAX &&
                    text_read_digits((const uint8_t *)digits, (uint32_t)bytes, INT64_MAX / 16, &number);
    }
    finish(rejection, is_number ? number : 0);
}

// Takes one byte of a string. Returns whether the string ends with this byte.
static bool ends_string(struct trace_rejection *rejection, uint8_t byte) {
    bool was_escaped = rejection->is_escaped;
    rejection->is_escaped = !was_escaped && byte == '\\';
    return byte == '"' && !was_escaped;
}

static void take_key(struct trace_rejection *rejection, uint8_t byte) {
    assert(rejection->level > 0);
    if (byte == '"') {
        enter(rejection, IN_KEY);
        add_byte(rejection, byte);
    } else if (byte != ',' && !is_space(byte)) {
        finish(rejection, 0); // the object's end, or invalid JSON
    }
}

static void take_value(struct trace_rejection *rejection, uint8_t byte) {
    bool is_object = byte == '{', is_container = is_object || byte == '[';
    if (is_space(byte))
        return;
    if (rejection->level == 0 && !is_object) {
        finish(rejection, 0);
    } else if (is_object && (rejection->level == 0 || rejection->wanted == PARTIAL_SUCCESS)) {
        rejection->level++;
        enter(rejection, AT_KEY);
    } else if (rejection->wanted == REJECTED_SPANS && !is_container) {
        enter(rejection, byte == '"' ? IN_STRING : IN_NUMBER);
        add_byte(rejection, byte);
    } else {
        enter(rejection, is_container || byte == '"' ? IN_CONTAINER : IN_OTHER);
        rejection->depth = is_container;
        rejection->is_in_string = byte == '"';
    }
}

// Skips a byte of an object, an array, or a string.
static void take_container(struct trace_rejection *rejection, uint8_t byte) {
    assert(rejection->is_in_string || rejection->depth > 0);
    if (rejection->is_in_string)
        rejection->is_in_string = !ends_string(rejection, byte);
    else if (byte == '"')
        rejection->is_in_string = true;
    else if (byte == '{' || byte == '[')
        rejection->depth += rejection->depth < UINT32_MAX;
    else if (byte == '}' || byte == ']')
        rejection->depth--;
    if (!rejection->is_in_string && rejection->depth == 0)
        enter(rejection, AT_KEY);
}

// Takes a byte of a number or a word. A comma, a bracket or a space ends it.
static void take_scalar(struct trace_rejection *rejection, uint8_t byte) {
    bool ends = byte == ',' || byte == '}' || byte == ']' || is_space(byte);
    if (!ends)
        add_byte(rejection, byte);
    else if (rejection->state == IN_NUMBER)
        end_count(rejection);
    else
        enter(rejection, AT_KEY);
    if (ends && byte == '}' && rejection->state == AT_KEY)
        finish(rejection, 0);
}

static void take_string(struct trace_rejection *rejection, uint8_t byte) {
    assert(rejection->bytes > 0);
    add_byte(rejection, byte);
    if (!ends_string(rejection, byte))
        return;
    if (rejection->state == IN_KEY)
        end_key(rejection);
    else
        end_count(rejection);
}

static void take(struct trace_rejection *rejection, uint8_t byte) {
    switch ((enum state)rejection->state) {
    case AT_VALUE:
        take_value(rejection, byte);
        break;
    case AT_KEY:
        take_key(rejection, byte);
        break;
    case AT_COLON:
        if (byte == ':')
            enter(rejection, AT_VALUE);
        else if (!is_space(byte))
            finish(rejection, 0);
        break;
    case IN_KEY:
    case IN_STRING:
        take_string(rejection, byte);
        break;
    case IN_CONTAINER:
        take_container(rejection, byte);
        break;
    case IN_NUMBER:
    case IN_OTHER:
        take_scalar(rejection, byte);
        break;
    case IS_KNOWN:
        break;
    }
}

bool trace_rejection_read(struct trace_rejection *rejection, const uint8_t *bytes, uint32_t count) {
    assert(bytes || count == 0);
    for (uint32_t at = 0; at < count && rejection->state != IS_KNOWN; at++)
        take(rejection, bytes[at]);
    return rejection->state == IS_KNOWN;
}
