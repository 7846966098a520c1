#include "core/base/text.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include "core/base/memory.h"

void text_deinit(struct text *text) {
    assert(text->bytes || text->capacity == 0);
    memory_give(text->bytes);
    text_init(text);
}

bool text_try_reserve(struct text *text, size_t count) {
    assert(text->length <= text->capacity);
    if (text->failed)
        return false;
    if (text->capacity - text->length >= count)
        return true;
    size_t capacity = text->capacity ? text->capacity * 2 : 256;
    if (capacity - text->length < count) // what is large is often all that comes
        capacity = text->length + count;
    char *bytes = memory_resize(text->bytes, capacity);
    if (!bytes)
        return false;
    text->bytes = bytes;
    text->capacity = capacity;
    assert(capacity - text->length >= count);
    return true;
}

bool text_reserve(struct text *text, size_t count) {
    if (!text_try_reserve(text, count))
        text->failed = true;
    return !text->failed;
}

void text_add(struct text *text, const void *bytes, size_t count) {
    assert(bytes || count == 0);
    if (count == 0 || !text_reserve(text, count))
        return;
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
}

void text_put(struct text *text, const char *string) {
    text_add(text, string, strlen(string));
}

// Digits are made several at once, the first in the lowest byte: of a word whose halves are numbers of four digits the
// pairs, of each pair the digits. A division is a product and a shift, which holds for numbers this small.
static inline uint64_t digits_of_fours(uint64_t fours) {
    assert((fours & UINT32_MAX) < 10000 && fours >> 32 < 10000);
    uint64_t hundreds = fours * 10486 >> 20 & UINT64_C(0x0000007f0000007f);
    uint64_t pairs = hundreds | (fours - hundreds * 100) << 16;
    uint64_t tens = pairs * 103 >> 10 & UINT64_C(0x000f000f000f000f);
    return tens | (pairs - tens * 10) << 8;
}

// Without the zeros before it; of zero one stays. Eight bytes are written, whatever it is.
static inline size_t put_without_zeros(char *out, uint64_t digits) {
    unsigned zeros = (unsigned)__builtin_ctzll(digits | UINT64_C(1) << 56) / 8;
    uint64_t word = htole64((digits | UINT64_C(0x3030303030303030)) >> 8 * zeros);
    memcpy(out, &word, sizeof word);
    return 8 - zeros;
}

static inline void put_all_eight(char *out, uint64_t digits) {
    uint64_t word = htole64(digits | UINT64_C(0x3030303030303030));
    memcpy(out, &word, sizeof word);
}

#define EIGHT_DIGITS_END UINT64_C(100000000)

static inline uint64_t fours_of(uint64_t number) {
    assert(number < EIGHT_DIGITS_END);
    return number / 10000 | number % 10000 << 32;
}

// The first nine to twelve digits of a number that has seventeen to twenty, as no hub id has.
static size_t put_long(char *out, uint64_t number) {
    size_t count = put_without_zeros(out, digits_of_fours(fours_of(number / EIGHT_DIGITS_END)));
    put_all_eight(out + count, digits_of_fours(fours_of(number % EIGHT_DIGITS_END)));
    return count + 8;
}

// Every forwarded message has a hub id and a length written by this.
size_t text_digits(char *out, uint64_t number) {
    if (number < 10000)
        return put_without_zeros(out, digits_of_fours(number << 32));
    if (number < EIGHT_DIGITS_END)
        return put_without_zeros(out, digits_of_fours(fours_of(number)));
    uint64_t first = number / EIGHT_DIGITS_END;
    size_t count = first < EIGHT_DIGITS_END ? put_without_zeros(out, digits_of_fours(fours_of(first)))
                                            : put_long(out, first);
    put_all_eight(out + count, digits_of_fours(fours_of(number % EIGHT_DIGITS_END)));
    return count + 8;
}

void text_number(struct text *text, int64_t number) {
    char digits[20];
    if (number < 0)
        text_add(text, "-", 1);
    uint64_t magnitude = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    text_add(text, digits, text_digits(digits, magnitude));
}

static void escaped(struct text *text, unsigned char byte) {
    assert(byte < 0x20 || byte == '"' || byte == '\\');
    static const char hex[] = "0123456789abcdef";
    char escape[6] = {'\\', 'u', '0', '0', hex[byte >> 4], hex[byte & 15]};
    if (byte == '"' || byte == '\\') {
        escape[1] = (char)byte;
        text_add(text, escape, 2);
    } else {
        text_add(text, escape, sizeof escape);
    }
}

void text_string(struct text *text, const char *string, size_t bytes) {
    assert(string || bytes == 0);
    text_add(text, "\"", 1);
    size_t plain = 0;
    for (size_t at = 0; at < bytes; at++) {
        unsigned char byte = (unsigned char)string[at];
        if (byte >= 0x20 && byte != '"' && byte != '\\')
            continue;
        text_add(text, string + plain, at - plain);
        escaped(text, byte);
        plain = at + 1;
    }
    text_add(text, string + plain, bytes - plain);
    text_add(text, "\"", 1);
}
