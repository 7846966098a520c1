#include "core/base/text.h"

#include <assert.h>
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

// Two digits a division: every forwarded message has a hub id and a length written by this.
size_t text_digits(char *out, uint64_t number) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
        "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
        "8081828384858687888990919293949596979899";
    char digits[20];
    size_t at = sizeof digits;
    for (; number >= 100; number /= 100)
        memcpy(digits + (at -= 2), pairs + number % 100 * 2, 2);
    if (number >= 10)
        memcpy(digits + (at -= 2), pairs + number * 2, 2);
    else
        digits[--at] = (char)('0' + number);
    memcpy(out, digits + at, sizeof digits - at);
    return sizeof digits - at;
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
