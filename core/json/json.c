// Walks one object or array, judges scalar tokens, and decodes strings and numbers.
//
// A walk goes from item to item. Each call takes a comma, a key with its colon, and a value, and ends with
// JSON_END where the value's own bracket lies. A call ends with JSON_BAD at the first byte that the grammar
// of RFC 8259 doesn't allow there. Nested containers are skipped over and not judged.

#include "core/json/json.h"

#include <assert.h>
#include <string.h>

#include "core/json/json_digits.h"

// --- Numbers and literals.

static uint32_t digits_end(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at <= end);
    uint32_t behind = at < end ? json_skip_digits(text, at, end) : end;
    return behind < end ? behind : end;
}

// As digits_end, but there must be a digit.
static uint32_t some_digits_end(const uint8_t *text, uint32_t at, uint32_t end) {
    uint32_t behind = digits_end(text, at, end);
    return behind > at ? behind : UINT32_MAX;
}

// The offset behind the number that begins at `at` (RFC 8259 section 6), or UINT32_MAX.
static uint32_t number_end(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at <= end);
    if (at < end && text[at] == '-')
        at++;
    if (at < end && text[at] == '0')
        at++;
    else
        at = some_digits_end(text, at, end);
    if (at < end && text[at] == '.')
        at = some_digits_end(text, at + 1, end);
    if (at < end && (text[at] | 0x20) == 'e') {
        at++;
        if (at < end && (text[at] == '+' || text[at] == '-'))
            at++;
        at = some_digits_end(text, at, end);
    }
    return at;
}

static uint32_t literal_end(const uint8_t *text, uint32_t at, uint32_t end, const char *literal) {
    assert(at < end);
    uint32_t bytes = (uint32_t)strlen(literal);
    return end - at >= bytes && memcmp(text + at, literal, bytes) == 0 ? at + bytes : UINT32_MAX;
}

uint32_t json_skip_scalar(const uint8_t *text, uint32_t at, uint32_t end, enum json_type *type) {
    assert(at < end);
    switch (text[at]) {
    case 't':
        *type = JSON_TRUE;
        return literal_end(text, at, end, "true");
    case 'f':
        *type = JSON_FALSE;
        return literal_end(text, at, end, "false");
    case 'n':
        *type = JSON_NULL;
        return literal_end(text, at, end, "null");
    default:
        *type = JSON_NUMBER;
        return number_end(text, at, end);
    }
}

bool json_number_valid(const uint8_t *text, struct span number) {
    return number.bytes > 0 &&
           number_end(text, number.at, number.at + number.bytes) == number.at + number.bytes;
}

// --- The walk.

void json_walk_begin(struct json_walk *walk, const uint8_t *text, struct span value) {
    assert(value.bytes >= 2 && (text[value.at] == '{' || text[value.at] == '['));
    *walk = (struct json_walk){
        .text = text,
        .at = value.at + 1,
        .end = value.at + value.bytes - 1, // where the closing bracket lies
        .object = text[value.at] == '{',
    };
}

static bool walk_key(struct json_walk *walk, struct span *key) {
    assert(walk->object && walk->at < walk->end);
    if (walk->text[walk->at] != '"')
        return false;
    uint32_t behind = json_skip_valid_string(walk->text, walk->at, walk->end);
    if (behind == UINT32_MAX)
        return false;
    *key = (struct span){walk->at, behind - walk->at};
    walk->at = json_skip_space(walk->text, behind, walk->end);
    if (walk->at == walk->end || walk->text[walk->at] != ':')
        return false;
    walk->at = json_skip_space(walk->text, walk->at + 1, walk->end);
    return walk->at < walk->end;
}

static bool walk_value(struct json_walk *walk, struct json_item *item) {
    assert(walk->at < walk->end);
    uint32_t behind;
    uint8_t first = walk->text[walk->at];
    if (first == '"') {
        item->type = JSON_STRING;
        behind = json_skip_valid_string(walk->text, walk->at, walk->end);
    } else if (first == '{' || first == '[') {
        item->type = first == '{' ? JSON_OBJECT : JSON_ARRAY;
        behind = json_skip_container(walk->text, walk->at, walk->end);
    } else {
        behind = json_skip_scalar(walk->text, walk->at, walk->end, &item->type);
    }
    item->value = (struct span){walk->at, behind - walk->at};
    assert(behind == UINT32_MAX || (behind > walk->at && behind <= walk->end));
    walk->at = behind;
    return behind != UINT32_MAX;
}

enum json_step json_next(struct json_walk *walk, struct json_item *item) {
    assert(walk->at <= walk->end);
    *item = (struct json_item){0};
    walk->at = json_skip_space(walk->text, walk->at, walk->end);
    if (walk->at == walk->end)
        return JSON_END;
    if (walk->begun) {
        if (walk->text[walk->at] != ',')
            return JSON_BAD;
        walk->at = json_skip_space(walk->text, walk->at + 1, walk->end);
        if (walk->at == walk->end)
            return JSON_BAD;
    }
    walk->begun = true;
    if (walk->object && !walk_key(walk, &item->key))
        return JSON_BAD;
    return walk_value(walk, item) ? JSON_ITEM : JSON_BAD;
}

struct json_item json_member(const uint8_t *text, struct span value, const char *key) {
    struct json_item item = {0};
    if (value.bytes < 2 || text[value.at] != '{')
        return item;
    struct json_walk walk;
    json_walk_begin(&walk, text, value);
    while (json_next(&walk, &item) == JSON_ITEM)
        if (json_string_is(text, item.key, key))
            return item;
    return (struct json_item){0};
}
