#include "core/log/secret_variant.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// --- Byte by byte

static int digit_of(char byte) {
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    byte = (char)(byte | 0x20);
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

// Returns whether `count` hex digits at the text's beginning are this number.
static bool is_number(const char *text, size_t bytes, size_t count, uint32_t number) {
    uint32_t found = 0;
    if (bytes < count)
        return false;
    for (size_t at = 0; at < count; at++) {
        int digit = digit_of(text[at]);
        if (digit < 0)
            return false;
        found = found << 4 | (uint32_t)digit;
    }
    return found == number;
}

// Returns how many bytes of UTF-8 the character at `secret` has, and sets *point to its code point. A byte that is no
// UTF-8 counts as one character.
static size_t character_at(const char *secret, size_t bytes, uint32_t *point) {
    uint8_t first = (uint8_t)*secret;
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    length = length <= bytes ? length : 1;
    *point = length == 1 ? first : first & (0x7fu >> length);
    for (size_t at = 1; at < length; at++)
        *point = *point << 6 | ((uint8_t)secret[at] & 0x3f);
    return length;
}

// Returns how many bytes of the text are the character as \uNNNN, or as two of these above U+FFFF. 0: the text doesn't
// begin with such an escape.
static size_t unicode_bytes(const char *text, size_t bytes, uint32_t point) {
    enum { ONE = 6 };
    if (bytes < ONE || text[0] != '\\' || text[1] != 'u')
        return 0;
    if (point < 0x10000)
        return is_number(text + 2, bytes - 2, 4, point) ? ONE : 0;
    uint32_t high = 0xd800 + ((point - 0x10000) >> 10), low = 0xdc00 + (point & 0x3ff);
    bool is_pair = bytes >= 2 * ONE && text[ONE] == '\\' && text[ONE + 1] == 'u';
    return is_pair && is_number(text + 2, 4, 4, high) && is_number(text + ONE + 2, 4, 4, low) ? 2 * ONE : 0;
}

// Returns how many bytes of the text are an escape of this byte; 0: none.
static size_t escape_bytes(const char *text, size_t bytes, char byte) {
    static const char plain[] = "\n\t\r\b\f", letters[] = "ntrbf";
    uint8_t number = (uint8_t)byte;
    const char *control = byte ? strchr(plain, byte) : NULL;
    if (text[0] == '%')
        return is_number(text + 1, bytes - 1, 2, number) ? 3 : 0;
    if (text[0] != '\\' || bytes < 2)
        return 0;
    if (text[1] == 'x')
        return is_number(text + 2, bytes - 2, 2, number) ? 4 : 0;
    bool is_same = (byte == '"' || byte == '\'' || byte == '\\' || byte == '/') && text[1] == byte;
    return is_same || (control && text[1] == letters[control - plain]) ? 2 : 0;
}

size_t secret_variant_bytes(const char *text, size_t bytes, const char *secret, size_t secret_bytes) {
    size_t at = 0;
    for (size_t done = 0; done < secret_bytes;) {
        uint32_t point;
        size_t length = character_at(secret + done, secret_bytes - done, &point);
        if (at == bytes)
            return 0;
        size_t spelled = unicode_bytes(text + at, bytes - at, point);
        if (spelled == 0) {
            length = 1;
            spelled = escape_bytes(text + at, bytes - at, secret[done]);
        }
        bool is_blank = secret[done] == ' ' && text[at] == '+';
        if (spelled == 0 && (is_blank || (text[at] == secret[done] && text[at] != '\\')))
            spelled = 1;
        if (spelled == 0)
            return 0;
        at += spelled;
        done += length;
    }
    assert(at <= bytes);
    return at;
}

// --- As a whole

static void spell_hex(const char *secret, size_t bytes, const char *digits, secret_variant_sink *sink,
                      void *context) {
    char text[2 * SECRET_VARIANT_BYTES_MAX];
    for (size_t at = 0; at < bytes; at++) {
        text[2 * at] = digits[(uint8_t)secret[at] >> 4];
        text[2 * at + 1] = digits[(uint8_t)secret[at] & 15];
    }
    sink(context, text, 2 * bytes);
}

// Returns six bits of the secret, as if `before` bytes stood before the secret.
static uint32_t six_bits(const char *secret, size_t before, size_t index) {
    uint32_t bits = 0;
    for (size_t bit = 6 * index; bit < 6 * index + 6; bit++)
        bits = bits << 1 | ((uint8_t)secret[bit / 8 - before] >> (7 - bit % 8) & 1);
    return bits;
}

static void spell_base64(const char *secret, size_t bytes, size_t before, bool is_url,
                         secret_variant_sink *sink, void *context) {
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char text[4 * SECRET_VARIANT_BYTES_MAX / 3 + 4];
    size_t count = 0;
    bool differs = false;
    for (size_t index = (8 * before + 5) / 6; 6 * index + 6 <= 8 * (before + bytes); index++) {
        uint32_t bits = six_bits(secret, before, index);
        differs |= bits >= 62;
        text[count++] = bits < 62 ? alphabet[bits] : (is_url ? "-_" : "+/")[bits - 62];
    }
    assert(count <= sizeof text);
    if (!is_url || differs)
        sink(context, text, count);
}

void secret_variants(const char *secret, size_t secret_bytes, secret_variant_sink *sink, void *context) {
    if (secret_bytes == 0 || secret_bytes > SECRET_VARIANT_BYTES_MAX)
        return;
    spell_hex(secret, secret_bytes, "0123456789abcdef", sink, context);
    spell_hex(secret, secret_bytes, "0123456789ABCDEF", sink, context);
    for (size_t before = 0; before < 3; before++) {
        spell_base64(secret, secret_bytes, before, false, sink, context);
        spell_base64(secret, secret_bytes, before, true, sink, context);
    }
}
