// Finds guarded keys among all others, which nearly all keys are. For the walks of the lookup alone. The result is an
// enum lookup_key, KEY_TYPE or KEY_OTHER.
#pragma once

#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "core/json/json_block.h"
#include "core/lookup/lookup.h"

enum {
    KEY_TYPE = LOOKUP_KEYS_COUNT, // not guarded: the key by which an HCS frame is known
    KEY_OTHER,
    KEY_TEXT_BYTES = 24,   // whole words, with zeros behind the longest name
    KEY_CLOSED_BYTES = 20, // bytes of the longest name and a quote
    KEY_LEVELS = 3,
    KEY_SLOTS = 64,
    // Bytes of a character that a reader without regard to case takes for an ASCII letter
    KEY_CHARACTER_BYTES_MAX = 3,
};

// A key with its closing quote, so that a longer key with the same beginning differs.
struct key_entry {
    _Alignas(32) char text[KEY_CLOSED_BYTES]; // the key and the quote, with zeros behind
    uint32_t compared;                        // bit i: byte i of `text` is compared; 0 in an empty entry
    uint32_t bit;                             // the key's bit in a set of keys; 0 in an empty entry
    uint8_t bytes;                            // of the key, without the quote
    uint8_t key;                              // enum lookup_key, KEY_TYPE, or KEY_OTHER in an empty entry
};
static_assert(sizeof(struct key_entry) == 32, "an entry is loaded at once");

// The keys of a level. Filled before main, then only read.
struct key_level {
    struct key_entry entries[KEY_SLOTS]; // [key_slot]: the only place where a key may be
    // [length]: the first and last letters of the level's keys, as bits that both cases of a letter share.
    uint32_t firsts[KEY_TEXT_BYTES + 1];
    uint32_t lasts[KEY_TEXT_BYTES + 1];
    // Tables for vector code, by half bytes. Each first letter of the level has a bit; two letters may share a bit if
    // they differ in one half byte alone. The bit is in the tables of the low and high half of the first byte. The bit
    // is also in the tables of the low half of the second and third bytes that may follow.
    uint16_t low_halves[8], high_halves[8]; // [bit]: the half bytes of the bit's letters
    uint8_t first_low[16];
    uint8_t first_high[16];
    uint8_t second_low[16];
    uint8_t third_low[16];
};
extern struct key_level key_levels[KEY_LEVELS];
extern const struct key_entry key_other;

JSON_INLINE unsigned key_slot(uint8_t first, uint32_t bytes) {
    return (first + 10 * bytes) % KEY_SLOTS;
}

JSON_INLINE uint32_t key_letter_bit(uint8_t letter) {
    return UINT32_C(1) << (letter & 31);
}

// Returns whether the text is this name of `bytes`. Reads whole words of both; the text must have slack.
JSON_INLINE bool key_is(const uint8_t *text, const char *name, uint32_t bytes) {
    assert(bytes < KEY_TEXT_BYTES);
#ifdef __SSE2__
    __m128i one = _mm_loadu_si128((const __m128i *)text), other = _mm_loadu_si128((const __m128i *)name);
    uint32_t differ = 0xffff ^ (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(one, other));
    if (likely(bytes <= sizeof one))
        return (differ & json_bits_below(bytes)) == 0;
    uint64_t rest = json_word_load(text + 16) ^ json_word_load((const uint8_t *)name + 16);
    return differ == 0 && (rest & json_bits_below(8 * (uint64_t)(bytes - 16))) == 0;
#else
    uint64_t differ = 0;
    for (uint32_t at = 0; at < bytes; at += 8)
        differ |= (json_word_load(text + at) ^ json_word_load((const uint8_t *)name + at)) &
                  json_bits_below(8 * (uint64_t)(bytes - at));
    return differ == 0;
#endif
}

// Returns the key of the level that these bytes spell.
JSON_INLINE unsigned key_find(const struct key_level *keys, const uint8_t *text, uint32_t bytes) {
    assert(keys >= key_levels && keys < key_levels + KEY_LEVELS);
    const struct key_entry *entry = &keys->entries[key_slot(text[0], bytes)];
    if (likely(entry->bytes != bytes) || !key_is(text, (const char *)entry, bytes))
        return KEY_OTHER;
    return entry->key;
}

typedef const struct key_entry *key_find_of(const struct key_level *keys, const uint8_t *text, size_t bytes);
#if defined(__x86_64__)
// Returns the entry of a text that a quote closes. Has no branch on the length, which the processor would have to
// predict.
JSON_TARGET_AVX2 JSON_INLINE const struct key_entry *key_find_closed(const struct key_level *keys,
                                                                     const uint8_t *text, size_t bytes) {
    assert(keys >= key_levels && keys < key_levels + KEY_LEVELS);
    const struct key_entry *entry = &keys->entries[(text[0] + 10 * bytes) % KEY_SLOTS];
    __m256i same = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)text),
                                     _mm256_load_si256((const __m256i *)entry));
    uint32_t differ = ~(uint32_t)_mm256_movemask_epi8(same) & entry->compared;
    return likely(differ == 0) ? entry : &key_other;
}
#endif

// Returns whether a key may equal a guarded key of the level except for case: by length, first and last letter, or
// because the key isn't ASCII. The key must have no escapes and fewer bytes than a block.
JSON_INLINE bool key_may_differ(unsigned level, const uint8_t *text, uint32_t bytes) {
    assert(level < KEY_LEVELS && bytes < JSON_BLOCK_BYTES);
    if (__builtin_expect(bytes > KEY_TEXT_BYTES, false))
        return bytes <= KEY_TEXT_BYTES * KEY_CHARACTER_BYTES_MAX;
    uint64_t high = 0;
    for (uint32_t at = 0; at < KEY_TEXT_BYTES;
         at += 8) // the same number of steps for each key, so that no branch has to be predicted
        high |= json_word_load(text + at) & json_bits_below(bytes > at ? 8 * (uint64_t)(bytes - at) : 0);
    if ((high & UINT64_C(0x8080808080808080)) != 0)
        return true;
    const struct key_level *keys = &key_levels[level];
    return bytes > 0 && (keys->firsts[bytes] & key_letter_bit(text[0])) != 0 &&
           (keys->lasts[bytes] & key_letter_bit(text[bytes - 1])) != 0;
}

// Returns the key of the level that a valid JSON string means.
unsigned key_find_escaped(unsigned level, const uint8_t *text, struct span string);
// Returns the guarded key of the level that a valid JSON string means, ignoring case. Escapes are decoded. Case is that
// of ASCII, and of the two other characters that Unicode folds into ASCII letters: U+017F to s, U+212A to k.
unsigned key_find_folded(unsigned level, const uint8_t *text, struct span string);
