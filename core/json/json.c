#include "core/json/json.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/json/json_block.h"

// Walks one object or array, judges scalar tokens, and decodes strings and numbers.
//
// A walk goes from item to item. Each call reads a comma, a key with its colon, and a value. A call returns JSON_END at
// the closing bracket of the walked value, and JSON_BAD at the first byte that the grammar of RFC 8259 doesn't allow.
// Nested containers are skipped and not judged.

// --- Numbers and literals.

static uint32_t digits_end(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at <= end);
    uint32_t behind = at < end ? json_skip_digits(text, at, end) : end;
    return behind < end ? behind : end;
}

// Returns the offset behind the digits, as digits_end, or UINT32_MAX if there is no digit.
static uint32_t some_digits_end(const uint8_t *text, uint32_t at, uint32_t end) {
    uint32_t behind = digits_end(text, at, end);
    return behind > at ? behind : UINT32_MAX;
}

// Returns the offset behind the number that begins at `at` (RFC 8259 section 6), or UINT32_MAX.
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
        .end = value.at + value.bytes - 1, // the offset of the closing bracket
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

bool json_member_true(const uint8_t *text, struct span value, const char *key) {
    return json_member(text, value, key).type == JSON_TRUE;
}

uint64_t json_member_whole(const uint8_t *text, struct span value, const char *key) {
    struct json_item item = json_member(text, value, key);
    uint64_t number = 0;
    return item.type == JSON_NUMBER && json_number_whole(text, item.value, &number) ? number : 0;
}

size_t json_member_text(const uint8_t *text, struct span value, const char *key, char *out, size_t capacity) {
    struct json_item item = json_member(text, value, key);
    assert(out || capacity == 0);
    return item.type == JSON_STRING ? json_string_decode(text, item.value, out, capacity) : SIZE_MAX;
}

// --- Numbers

// Decodes number tokens exactly, in any spelling.

// The parts of a number token. The value is `digits`, without zeros at either end, times ten to the power of
// `exponent`.
struct decimal {
    uint64_t digits; // valid if `count` is at most DECIMAL_DIGITS_MAX
    uint64_t count;
    int64_t exponent;
};

enum {
    DECIMAL_DIGITS_MAX = 16, // 2^53 - 1 has sixteen digits
    EXPONENT_BYTES_MAX = 24,
};
// Exponents stop growing about here: beyond what the digits of any token can balance, and far from overflow.
#define EXPONENT_BOUND (INT64_C(1) << 40)

// Takes one more digit. *zeros counts zeros until another digit follows, so trailing zeros never count.
static void decimal_take(struct decimal *decimal, uint64_t *zeros, uint8_t byte) {
    assert(byte >= '0' && byte <= '9');
    if (byte == '0') {
        *zeros += decimal->count > 0;
        return;
    }
    for (decimal->count += *zeros + 1; *zeros > 0; --*zeros)
        decimal->digits *= 10; // overflows beyond sixteen digits, when `digits` isn't valid any more
    decimal->digits = decimal->digits * 10 + (uint64_t)(byte - '0');
}

static int64_t exponent_read(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end);
    bool negative = text[at] == '-';
    int64_t exponent = 0;
    for (at += text[at] == '-' || text[at] == '+'; at < end; at++)
        if (exponent < EXPONENT_BOUND)
            exponent = exponent * 10 + (text[at] - '0');
    assert(exponent < EXPONENT_BOUND * 10);
    return negative ? -exponent : exponent;
}

static struct decimal decimal_read(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end && text[at] >= '0' && text[at] <= '9');
    struct decimal decimal = {0};
    uint64_t zeros = 0;
    int64_t fraction = 0;
    bool point = false;
    for (; at < end && (text[at] | 0x20) != 'e'; at++) {
        if (text[at] == '.') {
            point = true;
        } else {
            decimal_take(&decimal, &zeros, text[at]);
            fraction += point;
        }
    }
    decimal.exponent = (int64_t)zeros - fraction + (at < end ? exponent_read(text, at + 1, end) : 0);
    return decimal;
}

// Returns the value of up to eight ASCII digits, the first digit in the lowest byte. Pairs of digits are added to
// bytes, and pairs of bytes to the value. Returns UINT64_MAX if any byte is no digit.
static uint64_t digits_value(uint64_t word, uint32_t count) {
    assert(count > 0 && count <= 8);
    uint64_t digits = word ^ UINT64_C(0x3030303030303030);
    uint64_t beyond = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    if (beyond & json_bits_below(8 * (uint64_t)count))
        return UINT64_MAX;
    digits <<= 64 - 8 * count; // puts zeros before the digits
    digits = digits * 10 + (digits >> 8);
    uint64_t low = digits & UINT64_C(0x000000ff000000ff), high = digits >> 16 & UINT64_C(0x000000ff000000ff);
    assert(low <= UINT64_C(0x0000006300000063) && high <= UINT64_C(0x0000006300000063));
    return (low * UINT64_C(0x000f424000000064) + high * UINT64_C(0x0000271000000001)) >> 32;
}

// Returns the value of a number of 1 to 16 digits and nothing else, as nearly all numbers are, including the hub's own
// ids. Returns UINT64_MAX for all other numbers.
static uint64_t plain_value(const uint8_t *text, struct span number) {
    const uint8_t *first = text + number.at;
    if (number.bytes == 0 || number.bytes > 16 || (*first == '0' && number.bytes > 1))
        return UINT64_MAX;
    if (number.bytes <= 8)
        return digits_value(json_word_load(first), number.bytes);
    uint64_t high = digits_value(json_word_load(first), number.bytes - 8);
    uint64_t low = digits_value(json_word_load(first + number.bytes - 8), 8);
    return high == UINT64_MAX || low == UINT64_MAX ? UINT64_MAX : high * 100000000 + low;
}

bool json_number_whole(const uint8_t *text, struct span number, uint64_t *out) {
    *out = plain_value(text, number);
    if (*out != UINT64_MAX)
        return *out < UINT64_C(1) << 53;
    if (!json_number_valid(text, number))
        return false;
    bool negative = text[number.at] == '-';
    struct decimal decimal = decimal_read(text, number.at + negative, number.at + number.bytes);
    *out = 0;
    if (decimal.count == 0) // zero, or minus zero, which is the same number
        return true;
    if (negative || decimal.exponent < 0 || decimal.exponent > DECIMAL_DIGITS_MAX ||
        decimal.count + (uint64_t)decimal.exponent > DECIMAL_DIGITS_MAX)
        return false;
    assert(decimal.digits > 0 && decimal.digits % 10 != 0);
    *out = decimal.digits;
    for (; decimal.exponent > 0; decimal.exponent--)
        *out *= 10;
    return *out < UINT64_C(1) << 53;
}

// Writes `count` digits, from the first one that isn't zero on. Returns the place behind the digits.
static char *put_digits(char *out, const uint8_t *text, uint32_t at, uint64_t count) {
    while (count > 0 && (text[at] == '0' || text[at] == '.'))
        at++;
    for (; count > 0; at++) {
        if (text[at] == '.')
            continue;
        *out++ = (char)text[at];
        count--;
    }
    return out;
}

size_t json_number_decode(const uint8_t *text, struct span number, char *out, size_t capacity) {
    if (!json_number_valid(text, number))
        return SIZE_MAX;
    bool negative = text[number.at] == '-';
    struct decimal decimal = decimal_read(text, number.at + negative, number.at + number.bytes);
    if (decimal.count == 0) { // zero has one form for all spellings
        negative = false;
        decimal.exponent = 0;
    }
    uint64_t weight = (uint64_t)(decimal.exponent < 0 ? -decimal.exponent : decimal.exponent);
    if (weight >= EXPONENT_BOUND / 2 || decimal.count + EXPONENT_BYTES_MAX > capacity)
        return SIZE_MAX;
    char *end = out;
    if (negative)
        *end++ = '-';
    end = put_digits(end, text, number.at + negative, decimal.count);
    *end++ = 'e';
    if (decimal.exponent < 0)
        *end++ = '-';
    size_t bytes = (size_t)(end - out) + text_digits(end, weight);
    assert(bytes <= capacity);
    return bytes;
}

// --- Equality

// Compares scalars by their meaning.

enum { NUMBER_BYTES_MAX = 512 }; // more bytes than an id may have

static bool numbers_same(const uint8_t *text, struct span value, const uint8_t *other_text,
                         struct span other) {
    uint64_t whole, other_whole;
    char decoded[NUMBER_BYTES_MAX], other_decoded[NUMBER_BYTES_MAX];
    bool is_whole = json_number_whole(text, value, &whole);
    if (is_whole != json_number_whole(other_text, other, &other_whole))
        return false;
    if (is_whole)
        return whole == other_whole;
    size_t bytes = json_number_decode(text, value, decoded, sizeof decoded);
    return bytes != SIZE_MAX &&
           bytes == json_number_decode(other_text, other, other_decoded, sizeof other_decoded) &&
           memcmp(decoded, other_decoded, bytes) == 0;
}

bool json_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other) {
    assert(value.bytes > 0 && other.bytes > 0);
    if (value.bytes == other.bytes && memcmp(text + value.at, other_text + other.at, value.bytes) == 0)
        return true;
    bool string = json_string_quoted(text, value), other_string = json_string_quoted(other_text, other);
    if (string || other_string)
        return string && other_string && json_strings_same(text, value, other_text, other);
    return numbers_same(text, value, other_text, other);
}

// --- Lists of names

// Returns whether the number is zero in any spelling: no other digit stands before the exponent.
static bool is_zero(const uint8_t *text, struct span number) {
    assert(number.bytes > 0);
    for (uint32_t at = number.at; at < number.at + number.bytes && (text[at] | 0x20) != 'e'; at++)
        if (text[at] >= '1' && text[at] <= '9')
            return false;
    return true;
}

bool name_list_truthy(const uint8_t *text, const struct json_item *item) {
    assert(item->type <= JSON_NULL && item->key.bytes >= 2);
    switch (item->type) {
    case JSON_NONE:
    case JSON_FALSE:
    case JSON_NULL:
        return false;
    case JSON_STRING:
        return item->value.bytes > 2;
    case JSON_NUMBER:
        return !is_zero(text, item->value);
    default:
        return true;
    }
}

void name_list_begin(struct name_list *listing, const uint8_t *text, struct span list) {
    json_walk_begin(&listing->walk, text, list);
    listing->array = text[list.at] == '[';
}

bool name_list_next(struct name_list *listing, struct span *name) {
    assert(listing->array != listing->walk.object);
    for (struct json_item item; json_next(&listing->walk, &item) == JSON_ITEM;) {
        if (listing->array ? item.type != JSON_STRING : !name_list_truthy(listing->walk.text, &item))
            continue;
        *name = listing->array ? item.value : item.key;
        assert(json_string_quoted(listing->walk.text, *name));
        return true;
    }
    return false;
}
