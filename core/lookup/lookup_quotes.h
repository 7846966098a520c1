// All quotes of a text, found 64 bytes at a time. The same look tells whether the text has any byte that
// isn't plain: a backslash, a control character, a byte beyond ASCII. For lookup_quick.c alone.
//
// Quotes are told from escaped ones for the whole text at a time. The result is right up to the first
// backslash outside of strings, which a reader doesn't take.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/json/json_block.h"
#include "core/lookup/lookup_key.h"

enum { QUOTES_BYTES_MAX = 32768, QUOTES_BLOCKS_MAX = QUOTES_BYTES_MAX / JSON_BLOCK_BYTES };

struct quotes_map {
    uint64_t quotes[QUOTES_BLOCKS_MAX + 1]; // that aren't escaped; behind the last block all ones
    uint64_t special[QUOTES_BLOCKS_MAX];    // backslashes and control characters, from the first on
    uint32_t special_at; // the first of these, and the last; when there are none, far behind the end
    uint32_t special_last;
    bool ascii;
};

struct common_masks {
    uint64_t quote;
    uint64_t odd; // backslashes, control characters and bytes beyond ASCII
};
typedef struct common_masks common_masks_of(const uint8_t *block);
// Whether nothing in a block is odd; *quotes are its quotes in any case.
typedef bool plain_of(const uint8_t *block, uint64_t *quotes);

#if defined(__x86_64__)

// As signed numbers the bytes beyond ASCII lie below the control characters.
JSON_TARGET_AVX2 JSON_INLINE __m256i odd_avx2(__m256i bytes) {
    return _mm256_or_si256(_mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), bytes),
                           _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('\\')));
}
JSON_TARGET_AVX2 JSON_INLINE struct common_masks common_masks_avx2(const uint8_t *block) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    return (struct common_masks){
        .quote = json_equal_avx2(low, high, '"'),
        .odd = json_join_avx2(odd_avx2(low), odd_avx2(high)),
    };
}
JSON_TARGET_AVX2 JSON_INLINE bool plain_avx2(const uint8_t *block, uint64_t *quotes) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    __m256i odd = _mm256_or_si256(odd_avx2(low), odd_avx2(high));
    *quotes = json_equal_avx2(low, high, '"');
    return _mm256_testz_si256(odd, odd);
}
JSON_TARGET_AVX512 JSON_INLINE bool plain_avx512(const uint8_t *block, uint64_t *quotes) {
    __m512i bytes = _mm512_loadu_si512(block);
    __mmask64 plain = _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(0x20));
    plain = _mm512_mask_cmpneq_epi8_mask(plain, bytes, _mm512_set1_epi8('\\'));
    *quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    return _kortestc_mask64_u8(plain, plain);
}
JSON_TARGET_AVX512 JSON_INLINE struct common_masks common_masks_avx512(const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block);
    return (struct common_masks){
        .quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
        .odd = _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(0x20)) |
               _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
    };
}

#endif

// Functions that one level of vector code has for the quick walk. Always a constant, so that none of it is a
// call.
struct quick_level {
    common_masks_of *common_of;
    plain_of *plain_of;
    json_string_masks_of *strings_of;
    json_high_of *high_of;
    json_bracket_masks_of *brackets_of;
    json_parity_of *parity_of;
    key_find_of *key_of;
};

// Where the first and the last of these lie, among the blocks from `block` to the end.
static inline void quotes_special_find(struct quotes_map *map, uint32_t block, uint32_t end) {
    uint32_t word = block / JSON_BLOCK_BYTES, last = (end - 1) / JSON_BLOCK_BYTES;
    while (map->special[word] == 0)
        word++;
    while (map->special[last] == 0)
        last--;
    assert(word <= last);
    map->special_at = word * JSON_BLOCK_BYTES + json_lowest(map->special[word]);
    map->special_last = last * JSON_BLOCK_BYTES + 63 - (uint32_t)__builtin_clzll(map->special[last]);
}

// The rest of it, from the first block on in which not all is plain.
JSON_INLINE void quotes_map_odd(const struct quick_level *level, struct quotes_map *map, const uint8_t *text,
                                uint32_t block, uint32_t end) {
    uint64_t before = 0, special = 0, high = 0;
    for (uint32_t at = block; at < end; at += JSON_BLOCK_BYTES) {
        uint64_t limit = json_bits_below(end - at);
        struct json_string_masks masks = level->strings_of(text + at);
        uint64_t quotes = json_quotes(text, at, 0, masks.quote, masks.backslash, &before);
        uint64_t here = (masks.backslash | masks.control) & limit;
        map->quotes[at / JSON_BLOCK_BYTES] = quotes & limit;
        map->special[at / JSON_BLOCK_BYTES] = here;
        special |= here;
        high |= level->high_of(text + at) & limit;
    }
    map->quotes[(end + JSON_BLOCK_BYTES - 1) / JSON_BLOCK_BYTES] = UINT64_MAX;
    map->ascii = high == 0;
    if (special != 0)
        quotes_special_find(map, block, end);
}

JSON_INLINE void quotes_map_make(const struct quick_level *level, struct quotes_map *map, const uint8_t *text,
                                 uint32_t end) {
    assert(end > 0 && end <= QUOTES_BYTES_MAX);
    map->ascii = true;
    map->special_at = map->special_last = UINT32_MAX;
    uint64_t *word = map->quotes;
    uint32_t block = 0;
    for (; end - block > JSON_BLOCK_BYTES; block += JSON_BLOCK_BYTES)
        if (!likely(level->plain_of(text + block, word++))) {
            quotes_map_odd(level, map, text, block, end);
            return;
        }
    uint64_t limit = json_bits_below(end - block);
    struct common_masks masks = level->common_of(text + block);
    word[0] = masks.quote & limit;
    word[1] = UINT64_MAX;
    if (!likely((masks.odd & limit) == 0))
        quotes_map_odd(level, map, text, block, end);
}

// The block of the first quote from `block` on; there is one, if only behind the end.
JSON_INLINE uint32_t quotes_block_from(const struct quotes_map *map, uint32_t block) {
    while (map->quotes[block / JSON_BLOCK_BYTES] == 0)
        block += JSON_BLOCK_BYTES;
    return block;
}

// Whether nothing special lies between these offsets, from the first special one to the last.
static inline bool quotes_plain_among(const struct quotes_map *map, uint32_t at, uint32_t end) {
    at = at < map->special_at ? map->special_at : at;
    uint32_t word = at / JSON_BLOCK_BYTES, last = end / JSON_BLOCK_BYTES;
    assert(at <= end && last < QUOTES_BLOCKS_MAX);
    uint64_t bits = map->special[word] & ~json_bits_below(at % JSON_BLOCK_BYTES);
    while (word < last && bits == 0)
        bits = map->special[++word];
    return word == last && (bits & json_bits_below(end % JSON_BLOCK_BYTES)) == 0;
}

// Whether nothing special lies between two quotes.
JSON_INLINE bool quotes_plain_between(const struct quotes_map *map, uint32_t opening, uint32_t closing) {
    assert(opening < closing);
    bool before = closing < map->special_at;
    bool behind = opening > map->special_last;
    return likely(before | behind) || // guessed at once
           quotes_plain_among(map, opening, closing);
}
