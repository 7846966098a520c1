#include "core/requests/trace_context.h"

#include <assert.h>
#include <string.h>

#include "core/wire/field.h"

enum {
    TRACE_AT = 3,
    PARENT_AT = TRACE_AT + TRACE_ID_DIGITS + 1,
    FLAGS_AT = PARENT_AT + TRACE_PARENT_DIGITS + 1,
    CONTEXT_BYTES = FLAGS_AT + 2,
    ESCAPE_BYTES = sizeof "\\u0061" - 1, // the only escape that can mean a character of a context
    // Room for a member's value: the context, and the character behind the context, by which a longer value is known.
    // json_string_decode_begin writes whole characters, of 4 bytes at most.
    VALUE_BYTES_READ = CONTEXT_BYTES + 4,
};

static bool is_digit(char byte) {
    return (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'f');
}

static bool are_digits(const char *text, size_t count) {
    for (size_t at = 0; at < count; at++)
        if (!is_digit(text[at]))
            return false;
    return true;
}

static bool are_zeros(const char *text, size_t count) {
    assert(count > 0);
    for (size_t at = 0; at < count; at++)
        if (text[at] != '0')
            return false;
    return true;
}

static unsigned value_of(char digit) {
    assert(is_digit(digit));
    return digit <= '9' ? (unsigned)(digit - '0') : (unsigned)(digit - 'a') + 10;
}

bool trace_context_read(const char *text, size_t bytes, struct trace_context *out) {
    if (bytes < CONTEXT_BYTES || text[2] != '-' || text[PARENT_AT - 1] != '-' || text[FLAGS_AT - 1] != '-')
        return false;
    bool is_known = memcmp(text, "00", 2) == 0;
    bool ends = bytes == CONTEXT_BYTES || (!is_known && text[CONTEXT_BYTES] == '-');
    if (!ends || !are_digits(text, 2) || memcmp(text, "ff", 2) == 0 ||
        !are_digits(text + TRACE_AT, TRACE_ID_DIGITS) || are_zeros(text + TRACE_AT, TRACE_ID_DIGITS) ||
        !are_digits(text + PARENT_AT, TRACE_PARENT_DIGITS) ||
        are_zeros(text + PARENT_AT, TRACE_PARENT_DIGITS) || !are_digits(text + FLAGS_AT, 2))
        return false;
    memcpy(out->trace, text + TRACE_AT, TRACE_ID_DIGITS);
    memcpy(out->parent, text + PARENT_AT, TRACE_PARENT_DIGITS);
    out->sampled = value_of(text[FLAGS_AT + 1]) & 1;
    return true;
}

// Returns whether there is a traceparent, and sets *out to its context and *place to its value. *valid is true only if
// there is exactly one, with a valid value.
static bool find_member(const uint8_t *body, struct span meta, struct trace_context *out, bool *valid,
                        struct span *place) {
    struct json_walk walk;
    struct json_item item;
    char value[VALUE_BYTES_READ];
    unsigned count = 0;
    *valid = false;
    json_walk_begin(&walk, body, meta);
    while (json_next(&walk, &item) == JSON_ITEM) {
        if (!json_string_is(body, item.key, "traceparent"))
            continue;
        count++;
        size_t bytes =
            item.type == JSON_STRING ? json_string_decode_begin(body, item.value, value, sizeof value) : 0;
        *valid = trace_context_read(value, bytes, out);
        *place = item.value;
    }
    *valid &= count == 1;
    return count > 0;
}

static bool find_field(const uint8_t *block, uint32_t end, struct trace_context *out, struct span *place) {
    static const char name[] = "traceparent";
    uint32_t at = 0;
    unsigned count = 0;
    bool valid = false;
    for (struct field_line line; field_line_next(block, &at, end, &line);) {
        if (!field_is(block + line.name.at, line.name.bytes, name, sizeof name - 1))
            continue;
        count++;
        valid = trace_context_read((const char *)block + line.value.at, line.value.bytes, out);
        *place = line.value;
    }
    return valid && count == 1;
}

bool trace_context_find(const uint8_t *body, struct span meta, const uint8_t *block, uint32_t block_bytes,
                        struct trace_context *out) {
    bool valid = false;
    struct span place;
    if (meta.bytes > 0 && find_member(body, meta, out, &valid, &place))
        return valid;
    return block_bytes > 0 && find_field(block, block_bytes, out, &place);
}

static bool is_same(const struct trace_context *one, const struct trace_context *other) {
    return memcmp(one->trace, other->trace, TRACE_ID_DIGITS) == 0 &&
           memcmp(one->parent, other->parent, TRACE_PARENT_DIGITS) == 0;
}

// Returns the offset behind so many characters of a valid context, each written plain or as an escape. Such a character
// is a hexadecimal digit or '-', so an escape is \uXXXX: the short escapes mean other characters.
static uint32_t skip_characters(const uint8_t *body, uint32_t at, unsigned count) {
    for (; count > 0; count--) {
        assert(body[at] != '\\' || body[at + 1] == 'u');
        at += body[at] == '\\' ? ESCAPE_BYTES : 1;
    }
    return at;
}

struct trace_places trace_context_places(const uint8_t *body, struct span meta, const uint8_t *block,
                                         uint32_t block_bytes, const struct trace_context *context) {
    struct trace_places places = {0, 0};
    struct trace_context found;
    struct span place;
    bool valid = false;
    assert(is_digit(context->trace[0]) && is_digit(context->parent[0]));
    if (meta.bytes > 0 && find_member(body, meta, &found, &valid, &place) && valid &&
        is_same(&found, context))
        places.in_body = skip_characters(body, place.at + 1, PARENT_AT);
    if (block_bytes > 0 && find_field(block, block_bytes, &found, &place) && is_same(&found, context))
        places.in_block = place.at + PARENT_AT;
    return places;
}

void trace_context_write_parent(uint8_t *place, const char parent[TRACE_PARENT_DIGITS]) {
    static const char digits[] = "0123456789abcdef";
    for (size_t at = 0; at < TRACE_PARENT_DIGITS; at++) {
        assert(is_digit(parent[at]));
        if (*place == '\\') {
            place[ESCAPE_BYTES - 2] = (uint8_t)digits[parent[at] >> 4];
            place[ESCAPE_BYTES - 1] = (uint8_t)digits[parent[at] & 15];
            place += ESCAPE_BYTES;
        } else {
            *place++ = (uint8_t)parent[at];
        }
    }
}
