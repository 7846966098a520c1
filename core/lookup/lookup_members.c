// Skips members of an object that the hub doesn't need, many at a time: members whose keys aren't guarded and whose
// values are strings or scalars.
//
// The walk of lookup_walk.c takes one member after the other, and branches on each byte. With small members of all
// kinds the processor mispredicts once or twice a member. Here 64 bytes at a time become masks, and a block is judged
// as a whole: a comma, a string, a colon, a string or scalar, a comma. Masks can't judge two things, which are judged
// one by one: scalars that aren't whole numbers, and keys with the first letters of a guarded key.
//
// This module reports no fault: it leaves a member of another form, or a broken member, to the walk, from the comma
// before that member.
#include "core/lookup/lookup_members.h"

#include <assert.h>

#include "core/json/json_block.h"
#include "core/lookup/lookup_key.h"

// Bytes to compare with, 64 times each, and tables by half bytes. The constants are read from memory: a compiler that
// knew them would make each of them anew for each block, which costs as much as the comparison.
struct constants {
    _Alignas(JSON_BLOCK_BYTES) uint8_t quote[JSON_BLOCK_BYTES];
    uint8_t backslash[JSON_BLOCK_BYTES];
    uint8_t control_last[JSON_BLOCK_BYTES];
    uint8_t colon[JSON_BLOCK_BYTES];
    uint8_t comma[JSON_BLOCK_BYTES];
    uint8_t zero[JSON_BLOCK_BYTES];
    uint8_t nine[JSON_BLOCK_BYTES]; // the value 9, not the digit '9'
    uint8_t half[JSON_BLOCK_BYTES];
    uint8_t spaces[JSON_BLOCK_BYTES];
};

#define ALL(byte)                                                                                            \
    { [0 ... JSON_BLOCK_BYTES - 1] = (byte) }
#define FOUR_TIMES(...)                                                                                      \
    { __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__ }

static const struct constants constants_all = {
    .quote = ALL('"'),
    .backslash = ALL('\\'),
    .control_last = ALL(0x1f),
    .colon = ALL(':'),
    .comma = ALL(','),
    .zero = ALL('0'),
    .nine = ALL(9),
    .half = ALL(0x0f),
    .spaces = FOUR_TIMES(JSON_SPACE_TABLE),
};

struct member_masks {
    uint64_t colon;
    uint64_t comma;
    uint64_t space;
    uint64_t digit;
    uint64_t zero;
    uint64_t known; // bytes behind which a guarded key of the level may begin, by its first three bytes
};
typedef struct json_string_masks string_masks_of(const struct constants *all, const uint8_t *block);
typedef struct member_masks member_masks_of(const struct constants *all, const struct key_level *level,
                                            const uint8_t *block);

#if defined(__x86_64__)

struct halves {
    __m256i low, high;
};
JSON_TARGET_AVX2 JSON_INLINE struct halves halves_load(const uint8_t *block) {
    return (struct halves){_mm256_loadu_si256((const __m256i *)block),
                           _mm256_loadu_si256((const __m256i *)(block + 32))};
}
JSON_TARGET_AVX2 JSON_INLINE __m256i constant_avx2(const uint8_t *constant) {
    return _mm256_load_si256((const __m256i *)constant);
}
JSON_TARGET_AVX2 JSON_INLINE uint64_t equal_avx2(struct halves bytes, const uint8_t *constant) {
    __m256i all = constant_avx2(constant);
    return json_join_avx2(_mm256_cmpeq_epi8(bytes.low, all), _mm256_cmpeq_epi8(bytes.high, all));
}
JSON_TARGET_AVX2 JSON_INLINE __m256i at_most_avx2(__m256i bytes, const uint8_t *constant) {
    return _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, constant_avx2(constant)), bytes);
}
JSON_TARGET_AVX2 JSON_INLINE struct json_string_masks strings_avx2(const struct constants *all,
                                                                   const uint8_t *block) {
    struct halves bytes = halves_load(block);
    return (struct json_string_masks){
        .quote = equal_avx2(bytes, all->quote),
        .backslash = equal_avx2(bytes, all->backslash),
        .control = json_join_avx2(at_most_avx2(bytes.low, all->control_last),
                                  at_most_avx2(bytes.high, all->control_last)),
    };
}
JSON_TARGET_AVX2 JSON_INLINE __m256i unknown_avx2(const struct constants *all, const struct key_level *level,
                                                  const uint8_t *block) {
    __m256i first = _mm256_loadu_si256((const __m256i *)(block + 1));
    __m256i second = _mm256_loadu_si256((const __m256i *)(block + 2));
    __m256i third = _mm256_loadu_si256((const __m256i *)(block + 3));
    __m256i low = json_table_avx2(_mm_loadu_si128((const __m128i *)level->first_low));
    __m256i high = json_table_avx2(_mm_loadu_si128((const __m128i *)level->first_high));
    __m256i next = json_table_avx2(_mm_loadu_si128((const __m128i *)level->second_low));
    __m256i last = json_table_avx2(_mm_loadu_si128((const __m128i *)level->third_low));
    __m256i half = _mm256_and_si256(_mm256_srli_epi16(first, 4), constant_avx2(all->half));
    __m256i keys = _mm256_and_si256(_mm256_shuffle_epi8(low, first), _mm256_shuffle_epi8(high, half));
    keys = _mm256_and_si256(keys, _mm256_shuffle_epi8(next, second));
    keys = _mm256_and_si256(keys, _mm256_shuffle_epi8(last, third));
    return _mm256_cmpeq_epi8(keys, _mm256_setzero_si256());
}
JSON_TARGET_AVX2 JSON_INLINE struct member_masks
members_avx2(const struct constants *all, const struct key_level *level, const uint8_t *block) {
    struct halves bytes = halves_load(block);
    __m256i spaces = constant_avx2(all->spaces), zero = constant_avx2(all->zero);
    return (struct member_masks){
        .colon = equal_avx2(bytes, all->colon),
        .comma = equal_avx2(bytes, all->comma),
        .space = json_join_avx2(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(spaces, bytes.low), bytes.low),
                                _mm256_cmpeq_epi8(_mm256_shuffle_epi8(spaces, bytes.high), bytes.high)),
        .digit = json_join_avx2(at_most_avx2(_mm256_sub_epi8(bytes.low, zero), all->nine),
                                at_most_avx2(_mm256_sub_epi8(bytes.high, zero), all->nine)),
        .zero = equal_avx2(bytes, all->zero),
        .known = ~json_join_avx2(unknown_avx2(all, level, block), unknown_avx2(all, level, block + 32)),
    };
}

JSON_TARGET_AVX512 JSON_INLINE uint64_t equal_avx512(__m512i bytes, const uint8_t *constant) {
    return _mm512_cmpeq_epi8_mask(bytes, _mm512_load_si512(constant));
}
JSON_TARGET_AVX512 JSON_INLINE struct json_string_masks strings_avx512(const struct constants *all,
                                                                       const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block);
    return (struct json_string_masks){
        .quote = equal_avx512(bytes, all->quote),
        .backslash = equal_avx512(bytes, all->backslash),
        .control = _mm512_cmple_epu8_mask(bytes, _mm512_load_si512(all->control_last)),
    };
}
JSON_TARGET_AVX512 JSON_INLINE __m512i table_avx512(const uint8_t *table) {
    return json_table_avx512(_mm_loadu_si128((const __m128i *)table));
}
JSON_TARGET_AVX512 JSON_INLINE uint64_t known_avx512(const struct constants *all,
                                                     const struct key_level *level, const uint8_t *block) {
    __m512i first = _mm512_loadu_si512(block + 1), second = _mm512_loadu_si512(block + 2);
    __m512i third = _mm512_loadu_si512(block + 3);
    __m512i half = _mm512_and_si512(_mm512_srli_epi16(first, 4), _mm512_load_si512(all->half));
    __m512i keys = _mm512_and_si512(_mm512_shuffle_epi8(table_avx512(level->first_low), first),
                                    _mm512_shuffle_epi8(table_avx512(level->first_high), half));
    keys = _mm512_and_si512(keys, _mm512_shuffle_epi8(table_avx512(level->second_low), second));
    return _mm512_test_epi8_mask(keys, _mm512_shuffle_epi8(table_avx512(level->third_low), third));
}
JSON_TARGET_AVX512 JSON_INLINE struct member_masks
members_avx512(const struct constants *all, const struct key_level *level, const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block), zero = _mm512_load_si512(all->zero);
    return (struct member_masks){
        .colon = equal_avx512(bytes, all->colon),
        .comma = equal_avx512(bytes, all->comma),
        .space = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(_mm512_load_si512(all->spaces), bytes), bytes),
        .digit = _mm512_cmple_epu8_mask(_mm512_sub_epi8(bytes, zero), _mm512_load_si512(all->nine)),
        .zero = _mm512_cmpeq_epi8_mask(bytes, zero),
        .known = known_avx512(all, level, block),
    };
}

#endif

// The state from block to block: each field is 0 or 1, except the first.
struct carry {
    uint64_t inside;      // all ones: the block begins in a string
    uint64_t key;         // with `inside`: the string is a key
    uint64_t scalar;      // the byte before the block belongs to a scalar
    uint64_t after_comma; // the last token was a comma
    uint64_t after_colon;
    uint64_t after_key;
};

// The result of judging a block.
struct judged {
    uint64_t odd;   // bytes that can't be skipped; all below the lowest of these is judged
    uint64_t comma; // commas between members
};

JSON_INLINE bool is_literal(const uint8_t *text, const char *literal) {
    return memcmp(text, literal, 4) == 0;
}

// Returns whether a valid scalar begins at `at`, with a comma or white space behind it.
JSON_INLINE bool scalar_good(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end);
    enum json_type type;
    uint32_t behind;
    if (is_literal(text + at, "true") || is_literal(text + at, "null"))
        behind = at + 4;
    else
        behind = json_skip_scalar(text, at, end, &type);
    return behind < end && (text[behind] == ',' || json_skip_space(text, behind, end) > behind);
}

// Returns the lowest of these scalars that isn't good.
JSON_INLINE uint64_t scalars_odd(const uint8_t *text, uint32_t block, uint32_t end, uint64_t scalars) {
    assert(end - block >= JSON_BLOCK_BYTES);
    for (; scalars != 0; scalars &= scalars - 1)
        if (!scalar_good(text, block + json_lowest(scalars), end))
            return scalars & -scalars;
    return 0;
}

// Returns which of these keys (as bits of their opening quotes) are guarded, or unknown because they go on behind the
// block. `ends` are the closing quotes of keys.
JSON_INLINE uint64_t keys_guarded(const uint8_t *block, unsigned level, uint64_t keys, uint64_t ends) {
    assert(level < KEY_LEVELS && keys != 0);
    uint64_t guarded = 0;
    for (; keys != 0; keys &= keys - 1) {
        uint64_t key = keys & -keys, end = ends & ~(key | (key - 1));
        uint32_t at = json_lowest(key) + 1;
        if (end == 0 || key_find(&key_levels[level], block + at, json_lowest(end) - at) != KEY_OTHER)
            guarded |= key;
    }
    return guarded;
}

// Returns the tokens that come next behind `tokens`. Without white space between tokens, these are the next bytes.
JSON_INLINE uint64_t next_behind(uint64_t tokens, bool spaced, uint64_t space, uint64_t *carry) {
    assert(*carry <= 1 && (spaced || space == 0));
    if (spaced)
        return json_next_behind(tokens, space, carry);
    uint64_t next = tokens << 1 | *carry;
    *carry = tokens >> 63;
    return next;
}

// Judges a block that is entirely within the text.
JSON_INLINE struct judged judge(struct carry *carry, const struct member_masks *masks, bool spaced,
                                const uint8_t *text, uint32_t block, uint32_t end, unsigned level,
                                uint64_t quotes, uint64_t in_string, uint64_t special) {
    assert(end - block >= JSON_BLOCK_BYTES && (carry->key | carry->scalar) <= 1);
    assert(carry->after_comma + carry->after_colon + carry->after_key <= 1);
    uint64_t outside = ~(in_string | quotes), string_starts = quotes & in_string;
    uint64_t colon = masks->colon & outside, comma = masks->comma & outside, space = masks->space & outside;
    uint64_t scalar = outside & ~(colon | comma | space);
    uint64_t scalar_starts = scalar & ~(scalar << 1 | carry->scalar);
    carry->scalar = scalar >> 63;

    uint64_t keys = next_behind(comma, spaced, space, &carry->after_comma);
    uint64_t values = next_behind(colon, spaced, space, &carry->after_colon);
    uint64_t in_others; // bytes in strings that aren't keys, and bytes behind keys
    carry->key = __builtin_add_overflow(in_string, (keys & string_starts) | carry->key, &in_others);
    uint64_t key_ends = in_others & ~in_string, in_keys = in_string & ~in_others;
    uint64_t behind_keys = next_behind(key_ends, spaced, space, &carry->after_key);

    uint64_t odd = ((keys | values) ^ (string_starts | scalar_starts)) | (keys & scalar_starts) |
                   (behind_keys ^ colon) | (in_keys & special);
    uint64_t known = keys & masks->known;
    if (known != 0)
        odd |= keys_guarded(text + block, level, known, key_ends);
    // All scalars of the block are judged one by one if a number isn't a plain whole number, or may go on behind the
    // block.
    uint64_t one_by_one = scalar_starts & ~masks->digit;
    uint64_t doubtful = (scalar & ~masks->digit & masks->digit << 1) | (scalar_starts & masks->zero);
    if ((doubtful | carry->scalar) != 0)
        one_by_one = scalar_starts;
    if (one_by_one != 0)
        odd |= scalars_odd(text, block, end, one_by_one & (odd ^ (odd - 1)));
    return (struct judged){odd, comma};
}

JSON_INLINE uint32_t skip(string_masks_of *strings_of, member_masks_of *members_of, json_parity_of *parity_of,
                          const uint8_t *text, uint32_t at, uint32_t end, unsigned level) {
    const struct constants *all = &constants_all;
    __asm__("" : "+r"(all)); // see struct constants
    struct carry carry = {.after_comma = 1};
    uint64_t before = 0;
    uint32_t floor = at; // outside all strings
    for (uint32_t block = at + 1; end - block >= JSON_BLOCK_BYTES; block += JSON_BLOCK_BYTES) {
        struct json_string_masks strings = strings_of(all, text + block);
        uint64_t quotes = strings.quote;
        if ((strings.backslash | before) != 0)
            quotes = json_quotes(text, block, floor, strings.quote, strings.backslash, &before);
        if (quotes == 0 && carry.inside != 0 && carry.key == 0) // a long string goes on
            continue;
        uint64_t in_string = parity_of(quotes) ^ carry.inside, special = strings.backslash | strings.control;
        carry.inside = (uint64_t)((int64_t)in_string >> 63);
        struct member_masks masks = members_of(all, &key_levels[level], text + block);
        bool spaced = (masks.space & ~in_string) != 0;
        struct judged judged =
            spaced ? judge(&carry, &masks, true, text, block, end, level, quotes, in_string, special)
                   : judge(&carry, &masks, false, text, block, end, level, quotes, in_string, special);
        uint64_t commas = judged.comma & (judged.odd - 1) & ~judged.odd;
        if (commas != 0)
            at = block + 63 - (uint32_t)__builtin_clzll(commas);
        if (judged.odd != 0)
            break;
    }
    assert(at >= floor && text[at] == ',');
    return at;
}

// --- The instances for each level. Without vector code the walk takes all members.

static uint32_t skip_portable(const uint8_t *text, uint32_t at, uint32_t end, unsigned level) {
    (void)text, (void)end, (void)level;
    return at;
}
#if defined(__x86_64__)
JSON_TARGET_AVX2 static uint32_t skip_avx2(const uint8_t *text, uint32_t at, uint32_t end, unsigned level) {
    return skip(strings_avx2, members_avx2, json_parity_avx2, text, at, end, level);
}
JSON_TARGET_AVX512 static uint32_t skip_avx512(const uint8_t *text, uint32_t at, uint32_t end,
                                               unsigned level) {
    return skip(strings_avx512, members_avx512, json_parity_avx512, text, at, end, level);
}
#endif

static uint32_t (*const skips[JSON_LEVELS_COUNT])(const uint8_t *text, uint32_t at, uint32_t end,
                                                  unsigned level) = {
    skip_portable,
#if defined(__x86_64__)
    skip_avx2,
    skip_avx512,
#endif
};

uint32_t members_skip(const uint8_t *text, uint32_t at, uint32_t end, unsigned level) {
    assert(level < KEY_LEVELS && at < end && text[at] == ',');
    return skips[json_level_in_use()](text, at, end, level);
}
