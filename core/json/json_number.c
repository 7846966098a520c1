// Decodes number tokens exactly, however they are written.
#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/json/json.h"
#include "core/json/json_block.h"

// A number token taken apart: its value is `digits`, without zeros at either end, times ten to `exponent`.
struct decimal {
    uint64_t digits; // meaningful while count is at most DECIMAL_DIGITS_MAX
    uint64_t count;
    int64_t exponent;
};

enum {
    DECIMAL_DIGITS_MAX = 16, // 2^53 - 1 has sixteen
    EXPONENT_BYTES_MAX = 24,
};
// An exponent is cut about here: past what the digits of any token can weigh up, and far from overflow.
#define EXPONENT_BOUND (INT64_C(1) << 40)

// Takes one more digit. Zeros are kept back until another digit follows, so the last ones never count.
static void decimal_take(struct decimal *decimal, uint64_t *zeros, uint8_t byte) {
    assert(byte >= '0' && byte <= '9');
    if (byte == '0') {
        *zeros += decimal->count > 0;
        return;
    }
    for (decimal->count += *zeros + 1; *zeros > 0; --*zeros)
        decimal->digits *= 10; // wraps beyond sixteen digits, where it means nothing any more
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

// The value of up to eight ASCII digits, of which the first is in the lowest byte: pairs of digits become
// bytes, pairs of these the whole, all at once. UINT64_MAX when one of them is no digit.
static uint64_t digits_value(uint64_t word, uint32_t count) {
    assert(count > 0 && count <= 8);
    uint64_t digits = word ^ UINT64_C(0x3030303030303030);
    uint64_t beyond = ((digits + UINT64_C(0x7676767676767676)) | digits) & UINT64_C(0x8080808080808080);
    if (beyond & json_bits_below(8 * (uint64_t)count))
        return UINT64_MAX;
    digits <<= 64 - 8 * count; // zeros come before
    digits = digits * 10 + (digits >> 8);
    uint64_t low = digits & UINT64_C(0x000000ff000000ff), high = digits >> 16 & UINT64_C(0x000000ff000000ff);
    assert(low <= UINT64_C(0x0000006300000063) && high <= UINT64_C(0x0000006300000063));
    return (low * UINT64_C(0x000f424000000064) + high * UINT64_C(0x0000271000000001)) >> 32;
}

// Returns the value of 1 to 16 digits and nothing else, which nearly all numbers are, the hub's own ids among
// them. Returns UINT64_MAX for all others.
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
    assert(decimal.digits > 0 && decimal.digits % 10 != 0);
    *out = decimal.digits;
    for (; decimal.exponent > 0; decimal.exponent--)
        *out *= 10;
    return *out < UINT64_C(1) << 53;
}

// The digits that count, from the first that isn't zero on; returns what follows them.
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
    if (decimal.count == 0) { // however it is written, it is one
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
