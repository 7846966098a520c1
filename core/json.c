// Walking one object or array, judging scalar tokens, and what strings and numbers mean.
//
// A walk goes from item to item: each call takes a comma, a key with its colon, and a value, and ends with
// JSON_END where the value's own bracket lies. It ends with JSON_BAD at the first byte that the grammar of
// RFC 8259 doesn't allow there; what lies inside nested containers is skipped over and so isn't part of that.

#include "core/json.h"

#include <string.h>

#include "core/json_block.h"

// --- Numbers and literals.

static bool digit(uint8_t byte) {
    return byte >= '0' && byte <= '9';
}

static uint32_t digits_end(const uint8_t *text, uint32_t at, uint32_t end) {
    while (at < end && digit(text[at]))
        at++;
    return at;
}

// As digits_end, but there must be a digit.
static uint32_t some_digits_end(const uint8_t *text, uint32_t at, uint32_t end) {
    uint32_t behind = digits_end(text, at, end);
    return behind > at ? behind : UINT32_MAX;
}

// The offset behind the number that begins at `at` (RFC 8259 section 6), or UINT32_MAX.
static uint32_t number_end(const uint8_t *text, uint32_t at, uint32_t end) {
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
    uint32_t bytes = (uint32_t)strlen(literal);
    return end - at >= bytes && memcmp(text + at, literal, bytes) == 0 ? at + bytes : UINT32_MAX;
}

uint32_t json_skip_scalar(const uint8_t *text, uint32_t at, uint32_t end, enum json_type *type) {
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

// A number token taken apart: its value is `digits`, without zeros at either end, times ten to `exponent`.
struct decimal {
    uint64_t digits; // meaningful while count is at most DECIMAL_DIGITS_MAX
    uint64_t count;
    int64_t exponent;
};

enum {
    DECIMAL_DIGITS_MAX = 16, // 2^53 - 1 has sixteen
};
// An exponent is cut about here: past what the digits of any token can weigh up, and far from overflow.
#define EXPONENT_BOUND (INT64_C(1) << 40)

// Takes one more digit. Zeros are kept back until another digit follows, so the last ones never count.
static void decimal_take(struct decimal *decimal, uint64_t *zeros, uint8_t byte) {
    if (byte == '0') {
        *zeros += decimal->count > 0;
        return;
    }
    for (decimal->count += *zeros + 1; *zeros > 0; --*zeros)
        decimal->digits *= 10; // wraps beyond sixteen digits, where it means nothing any more
    decimal->digits = decimal->digits * 10 + (uint64_t)(byte - '0');
}

static int64_t exponent_read(const uint8_t *text, uint32_t at, uint32_t end) {
    bool negative = text[at] == '-';
    int64_t exponent = 0;
    for (at += text[at] == '-' || text[at] == '+'; at < end; at++)
        if (exponent < EXPONENT_BOUND)
            exponent = exponent * 10 + (text[at] - '0');
    return negative ? -exponent : exponent;
}

static struct decimal decimal_read(const uint8_t *text, uint32_t at, uint32_t end) {
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

// The value of up to eight ASCII digits, of which the first is in the lowest byte: pairs of digits become
// bytes, pairs of these the whole, all at once. UINT64_MAX when one of them is no digit.
static uint64_t digits_value(uint64_t word, uint32_t count) {
    uint64_t digits = word ^ UINT64_C(0x3030303030303030);
    uint64_t beyond = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    if (beyond & json_bits_below(8 * (uint64_t)count))
        return UINT64_MAX;
    digits <<= 64 - 8 * count; // zeros come before
    digits = digits * 10 + (digits >> 8);
    uint64_t low = digits & UINT64_C(0x000000ff000000ff), high = digits >> 16 & UINT64_C(0x000000ff000000ff);
    return (low * UINT64_C(0x000f424000000064) + high * UINT64_C(0x0000271000000001)) >> 32;
}

// What nearly all are, the hub's own ids among them: 1 to 16 digits and nothing else. UINT64_MAX for all
// others.
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
    if (decimal.count == 0) // zero, and minus zero, which is the same number
        return true;
    if (negative || decimal.exponent < 0 || decimal.exponent > DECIMAL_DIGITS_MAX ||
        decimal.count + (uint64_t)decimal.exponent > DECIMAL_DIGITS_MAX)
        return false;
    *out = decimal.digits;
    for (; decimal.exponent > 0; decimal.exponent--)
        *out *= 10;
    return *out < UINT64_C(1) << 53;
}

// --- Strings.

static uint32_t hex4(const uint8_t *text, uint32_t at, uint32_t end) {
    uint32_t value = 0;
    if (end - at < 4)
        return UINT32_MAX;
    for (uint32_t behind = at + 4; at < behind; at++) {
        uint8_t lower = text[at] | 0x20;
        if (digit(text[at]))
            value = value << 4 | (uint32_t)(text[at] - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value << 4 | (uint32_t)(lower - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return value;
}

static unsigned utf8_write(uint32_t code, char out[4]) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    unsigned more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t lead[4] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(lead[more] | code >> (6 * more));
    for (unsigned index = 1; index <= more; index++)
        out[index] = (char)(0x80 | (code >> (6 * (more - index)) & 0x3f));
    return more + 1;
}

// What one \u escape means, or two that are a surrogate pair (RFC 8259 section 7). `at` is behind the u.
static uint32_t unicode_decode(const uint8_t *text, uint32_t at, uint32_t end, char out[4], unsigned *bytes) {
    uint32_t code = hex4(text, at, end);
    if (code == UINT32_MAX)
        return UINT32_MAX;
    at += 4;
    if (code >= 0xd800 && code <= 0xdfff) {
        uint32_t low = UINT32_MAX;
        if (code < 0xdc00 && end - at >= 6 && text[at] == '\\' && text[at + 1] == 'u')
            low = hex4(text, at + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            at += 6;
        } else {
            code = 0xfffd;
        }
    }
    *bytes = utf8_write(code, out);
    return at;
}

// What the string means next, from `at` on: 1 to 4 bytes. Returns the offset behind, or UINT32_MAX where no
// JSON string goes on so.
static uint32_t string_decode_next(const uint8_t *text, uint32_t at, uint32_t end, char out[4],
                                   unsigned *bytes) {
    static const char escapes[] =
        "\"\"\\\\//b\bf\fn\nr\rt\t"; // what follows the backslash, then what it means
    *bytes = 1;
    out[0] = (char)text[at];
    if (text[at] != '\\')
        return text[at] >= 0x20 && text[at] != '"' ? at + 1 : UINT32_MAX;
    if (end - at < 2)
        return UINT32_MAX;
    if (text[at + 1] == 'u')
        return unicode_decode(text, at + 2, end, out, bytes);
    for (const char *escape = escapes; *escape != 0; escape += 2)
        if ((uint8_t)*escape == text[at + 1]) {
            out[0] = escape[1];
            return at + 2;
        }
    return UINT32_MAX;
}

static bool string_quoted(const uint8_t *text, struct span string) {
    return string.bytes >= 2 && text[string.at] == '"' && text[string.at + string.bytes - 1] == '"';
}

// Copies a string that means what it spells, a word at a time; false when it holds a backslash, a quote or a
// control character. Up to 7 bytes of `out` behind the string are written too.
static bool copy_plain(const uint8_t *inside, size_t bytes, char *out) {
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    for (size_t at = 0; at < bytes; at += 8) {
        uint64_t word = json_word_load(inside + at);
        uint64_t slash = word ^ ones * '\\', quote = word ^ ones * '"';
        uint64_t special =
            ((word - ones * 0x20) & ~word) | ((slash - ones) & ~slash) | ((quote - ones) & ~quote);
        if (special & tops & json_bits_below(8 * (uint64_t)(bytes - at)))
            return false;
        memcpy(out + at, inside + at, 8);
    }
    return true;
}

size_t json_string_decode(const uint8_t *text, struct span string, char *out, size_t capacity) {
    if (!string_quoted(text, string))
        return SIZE_MAX;
    size_t inside = string.bytes - 2;
    if (inside + 8 <= capacity && copy_plain(text + string.at + 1, inside, out)) // as nearly all are
        return inside;
    if (!memchr(text + string.at + 1, '\\', inside)) {
        if (inside > capacity || !json_string_valid(text, string))
            return SIZE_MAX;
        memcpy(out, text + string.at + 1, inside);
        return inside;
    }
    size_t written = 0;
    for (uint32_t at = string.at + 1, end = string.at + string.bytes - 1; at < end;) {
        char unit[4];
        unsigned bytes;
        at = string_decode_next(text, at, end, unit, &bytes);
        if (at == UINT32_MAX || capacity - written < bytes)
            return SIZE_MAX;
        memcpy(out + written, unit, bytes);
        written += bytes;
    }
    return written;
}

bool json_string_is(const uint8_t *text, struct span string, const char *literal) {
    if (!string_quoted(text, string))
        return false;
    size_t left = strlen(literal);
    for (uint32_t at = string.at + 1, end = string.at + string.bytes - 1; at < end;) {
        char unit[4];
        unsigned bytes;
        at = string_decode_next(text, at, end, unit, &bytes);
        if (at == UINT32_MAX || left < bytes || memcmp(literal, unit, bytes) != 0)
            return false;
        literal += bytes;
        left -= bytes;
    }
    return left == 0;
}

// A string's meaning, byte for byte: what one string escapes may lie plain in another, and an escape means up
// to 4 bytes.
struct meaning {
    const uint8_t *text;
    uint32_t at, end;
    unsigned read, bytes; // of the unit
    char unit[4];
};

enum { MEANING_END = -1, MEANING_BROKEN = -2 };

static struct meaning meaning_of(const uint8_t *text, struct span string) {
    return (struct meaning){.text = text, .at = string.at + 1, .end = string.at + string.bytes - 1};
}

static int meaning_next(struct meaning *meaning) {
    if (meaning->read == meaning->bytes) {
        if (meaning->at == meaning->end)
            return MEANING_END;
        meaning->at =
            string_decode_next(meaning->text, meaning->at, meaning->end, meaning->unit, &meaning->bytes);
        meaning->read = 0;
        if (meaning->at == UINT32_MAX)
            return MEANING_BROKEN;
    }
    return (uint8_t)meaning->unit[meaning->read++];
}

static bool strings_same(const uint8_t *text, struct span value, const uint8_t *other_text,
                         struct span other) {
    struct meaning one = meaning_of(text, value), another = meaning_of(other_text, other);
    int next;
    do {
        next = meaning_next(&one);
        if (next == MEANING_BROKEN || next != meaning_next(&another))
            return false;
    } while (next != MEANING_END);
    return true;
}

bool json_same(const uint8_t *text, struct span value, const uint8_t *other_text, struct span other) {
    if (value.bytes == other.bytes && memcmp(text + value.at, other_text + other.at, value.bytes) == 0)
        return true;
    bool string = string_quoted(text, value), other_string = string_quoted(other_text, other);
    if (string || other_string)
        return string && other_string && strings_same(text, value, other_text, other);
    uint64_t number, other_number;
    return json_number_whole(text, value, &number) && json_number_whole(other_text, other, &other_number) &&
           number == other_number;
}

// --- The walk.

void json_walk_begin(struct json_walk *walk, const uint8_t *text, struct span value) {
    *walk = (struct json_walk){
        .text = text,
        .at = value.at + 1,
        .end = value.at + value.bytes - 1, // where the closing bracket lies
        .object = text[value.at] == '{',
    };
}

static bool walk_key(struct json_walk *walk, struct span *key) {
    bool escaped;
    if (walk->text[walk->at] != '"')
        return false;
    uint32_t behind = json_skip_string(walk->text, walk->at, walk->end, &escaped);
    if (behind == UINT32_MAX)
        return false;
    *key = (struct span){walk->at, behind - walk->at};
    walk->at = json_skip_space(walk->text, behind, walk->end);
    if (walk->at == walk->end || walk->text[walk->at] != ':' || !json_string_valid(walk->text, *key))
        return false;
    walk->at = json_skip_space(walk->text, walk->at + 1, walk->end);
    return walk->at < walk->end;
}

static bool walk_value(struct json_walk *walk, struct json_item *item) {
    bool escaped, good = true;
    uint32_t behind;
    uint8_t first = walk->text[walk->at];
    if (first == '"') {
        item->type = JSON_STRING;
        behind = json_skip_string(walk->text, walk->at, walk->end, &escaped);
        good =
            behind != UINT32_MAX && json_string_valid(walk->text, (struct span){walk->at, behind - walk->at});
    } else if (first == '{' || first == '[') {
        item->type = first == '{' ? JSON_OBJECT : JSON_ARRAY;
        behind = json_skip_container(walk->text, walk->at, walk->end);
    } else {
        behind = json_skip_scalar(walk->text, walk->at, walk->end, &item->type);
    }
    item->value = (struct span){walk->at, behind - walk->at};
    walk->at = behind;
    return good && behind != UINT32_MAX;
}

enum json_step json_next(struct json_walk *walk, struct json_item *item) {
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
