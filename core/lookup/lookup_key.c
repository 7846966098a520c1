#include "core/lookup/lookup_key.h"

#include <assert.h>

struct key_level key_levels[KEY_LEVELS];
const struct key_entry key_other = {.key = KEY_OTHER};

static const char key_texts[KEY_TYPE + 1][KEY_TEXT_BYTES] = {
#define X(name, level, text) text,
    LOOKUP_KEYS(X)
#undef X
        "type"};

static const struct {
    uint8_t level;
    uint8_t bytes;
} shapes[KEY_TYPE + 1] = {
#define X(name, level, text) {level, sizeof(text) - 1},
    LOOKUP_KEYS(X)
#undef X
        {0, sizeof("type") - 1}};

static bool is_one(unsigned halves) {
    return (halves & (halves - 1)) == 0;
}

// Returns the bit for a first letter: the bit that the letter has already, else a free bit, else a bit whose letters
// differ from this one in one half byte alone.
static uint8_t bit_of_letter(struct key_level *level, uint8_t letter) {
    unsigned low = 1u << (letter & 15), high = 1u << (letter >> 4), found = 8;
    for (unsigned bit = 8; bit-- > 0;)
        if ((level->low_halves[bit] & low) && (level->high_halves[bit] & high))
            return (uint8_t)(1u << bit);
    for (unsigned bit = 8; bit-- > 0;)
        if (is_one(level->low_halves[bit] | low) || is_one(level->high_halves[bit] | high))
            found = found == 8 || !level->low_halves[bit] ? bit : found;
    if (found == 8)
        __builtin_trap();
    level->low_halves[found] |= (uint16_t)low;
    level->high_halves[found] |= (uint16_t)high;
    return (uint8_t)(1u << found);
}

// Adds the first three bytes of a key and its closing quote to the tables.
static void letters_add(struct key_level *level, const char *text) {
    uint8_t first = (uint8_t)text[0], second = (uint8_t)text[1], third = (uint8_t)text[2];
    uint8_t bit = bit_of_letter(level, first);
    level->first_low[first & 15] |= bit;
    level->first_high[first >> 4] |= bit;
    level->second_low[second & 15] |= bit;
    level->third_low[third & 15] |= bit;
}

static void entry_fill(struct key_entry *entry, unsigned key) {
    if (entry->key != KEY_OTHER)
        __builtin_trap();
    entry->key = (uint8_t)key;
    entry->bit = UINT32_C(1) << key;
    entry->bytes = shapes[key].bytes;
    memcpy(entry->text, key_texts[key], entry->bytes);
    entry->text[entry->bytes] = '"';
    entry->compared = (UINT32_C(2) << entry->bytes) - 1;
}

// Fills the tables. No two keys of one level may share a slot, and their first letters must fit eight bits: else the
// program ends.
__attribute__((constructor)) static void key_levels_fill(void) {
    for (unsigned level = 0; level < KEY_LEVELS; level++)
        for (unsigned slot = 0; slot < KEY_SLOTS; slot++)
            key_levels[level].entries[slot].key = KEY_OTHER;
    for (unsigned key = 0; key <= KEY_TYPE; key++) {
        const uint8_t *text = (const uint8_t *)key_texts[key];
        struct key_level *level = &key_levels[shapes[key].level];
        assert(shapes[key].level < KEY_LEVELS && shapes[key].bytes >= 2);
        struct key_entry *entry = &level->entries[key_slot(text[0], shapes[key].bytes)];
        entry_fill(entry, key);
        letters_add(level, entry->text);
        if (key == KEY_TYPE)
            continue;
        level->firsts[shapes[key].bytes] |= key_letter_bit(text[0]);
        level->lasts[shapes[key].bytes] |= key_letter_bit(text[shapes[key].bytes - 1]);
    }
}

const char *lookup_key_text(enum lookup_key key) {
    assert(key < LOOKUP_KEYS_COUNT);
    return key_texts[key];
}

unsigned key_find_escaped(unsigned level, const uint8_t *text, struct span string) {
    assert(level < KEY_LEVELS && json_string_quoted(text, string));
    char decoded[KEY_TEXT_BYTES];
    size_t bytes = json_string_decode(text, string, decoded, sizeof decoded);
    if (bytes == SIZE_MAX) // the string is too long for any key
        return KEY_OTHER;
    for (unsigned key = 0; key <= KEY_TYPE; key++)
        if (shapes[key].level == level && shapes[key].bytes == bytes &&
            memcmp(decoded, key_texts[key], bytes) == 0)
            return key;
    return KEY_OTHER;
}

// --- Comparison without regard to case

static uint8_t lookup_key_lower(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static bool same_but_case(const uint8_t *text, uint32_t bytes, unsigned key) {
    assert(bytes < KEY_TEXT_BYTES);
    uint32_t at = 0;
    while (at < bytes && lookup_key_lower(text[at]) == lookup_key_lower((uint8_t)key_texts[key][at]))
        at++;
    return at == bytes;
}

// Replaces the characters that Unicode folds into ASCII letters. Returns the number of bytes left.
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
        assert(out <= at);
        at += taken;
    }
    return out;
}

unsigned key_find_folded(unsigned level, const uint8_t *text, struct span string) {
    assert(level < KEY_LEVELS && json_string_quoted(text, string));
    uint8_t decoded[KEY_TEXT_BYTES * KEY_CHARACTER_BYTES_MAX];
    size_t count = json_string_decode(text, string, (char *)decoded, sizeof decoded);
    if (count == SIZE_MAX) // the string is too long for any key
        return KEY_OTHER;
    uint32_t bytes = fold(decoded, (uint32_t)count);
    for (unsigned key = 0; key < LOOKUP_KEYS_COUNT; key++)
        if (shapes[key].level == level && shapes[key].bytes == bytes && same_but_case(decoded, bytes, key))
            return key;
    return KEY_OTHER;
}
