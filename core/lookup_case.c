// A key goes one of two ways. Plain ASCII is told by its length and first letter, which is what nearly every
// key fails, and then compared. A key with escapes or other characters is decoded and folded first.

#include "core/lookup_case.h"

#include <string.h>

enum {
    NAME_BYTES_MAX = 23,
    CHARACTER_BYTES_MAX = 6, // \u0000
    LEVELS = 3,
};

static const struct name {
    unsigned level;
    uint32_t bytes;
    const char *text;
} names[LOOKUP_KEYS_COUNT] = {
#define X(name, level, text) {level, sizeof(text) - 1, text},
    LOOKUP_KEYS(X)
#undef X
};

// Of each level and length: the first letters of its keys, as bits that both cases of a letter share.
static uint32_t firsts[LEVELS][NAME_BYTES_MAX + 1];

static uint32_t first_bit(uint8_t byte) {
    return UINT32_C(1) << (byte & 31);
}

__attribute__((constructor)) static void firsts_fill(void) {
    for (unsigned key = 0; key < LOOKUP_KEYS_COUNT; key++) {
        if (names[key].bytes > NAME_BYTES_MAX)
            __builtin_trap();
        firsts[names[key].level][names[key].bytes] |= first_bit((uint8_t)names[key].text[0]);
    }
}

static uint8_t lower(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static bool same_but_case(const uint8_t *text, uint32_t bytes, const struct name *name) {
    if (bytes != name->bytes)
        return false;
    uint32_t at = 0;
    while (at < bytes && lower(text[at]) == lower((uint8_t)name->text[at]))
        at++;
    return at == bytes;
}

static enum lookup_key find(unsigned level, const uint8_t *text, uint32_t bytes) {
    unsigned key = 0;
    while (key < LOOKUP_KEYS_COUNT && !(names[key].level == level && same_but_case(text, bytes, &names[key])))
        key++;
    return (enum lookup_key)key;
}

// Replaces the characters that Unicode folds into ASCII letters; returns the number of bytes that remain.
static uint32_t fold(uint8_t *text, uint32_t bytes) {
    static const struct {
        const char *character;
        uint8_t letter;
    } folds[] = {{"\xc5\xbf", 's'}, {"\xe2\x84\xaa", 'k'}};
    uint32_t out = 0;
    for (uint32_t at = 0; at < bytes; out++) {
        uint32_t taken = 1;
        text[out] = text[at];
        for (unsigned index = 0; index < sizeof folds / sizeof *folds; index++) {
            uint32_t length = (uint32_t)strlen(folds[index].character);
            if (bytes - at >= length && memcmp(text + at, folds[index].character, length) == 0) {
                text[out] = folds[index].letter;
                taken = length;
            }
        }
        at += taken;
    }
    return out;
}

static bool plain(const uint8_t *text, uint32_t bytes) {
    uint32_t at = 0;
    while (at < bytes && text[at] < 0x80 && text[at] != '\\')
        at++;
    return at == bytes;
}

enum lookup_key lookup_key_but_case(unsigned level, const uint8_t *text, struct span string) {
    const uint8_t *inside = text + string.at + 1;
    uint32_t bytes = string.bytes - 2;
    if (bytes > NAME_BYTES_MAX * CHARACTER_BYTES_MAX)
        return LOOKUP_KEYS_COUNT;
    if (plain(inside, bytes)) {
        bool candidate = bytes <= NAME_BYTES_MAX && (firsts[level][bytes] & first_bit(inside[0])) != 0;
        return candidate ? find(level, inside, bytes) : LOOKUP_KEYS_COUNT;
    }
    uint8_t decoded[NAME_BYTES_MAX * 3];
    size_t count = json_string_decode(text, string, (char *)decoded, sizeof decoded);
    if (count == SIZE_MAX)
        return LOOKUP_KEYS_COUNT;
    return find(level, decoded, fold(decoded, (uint32_t)count));
}
