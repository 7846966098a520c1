// Reads 64 bytes of JSON text at a time as bit masks: bit i stands for the byte at offset i. For the skippers of
// json_string.c, json_valid.c and the walks of the lookup alone.
//
// Each level of vector code has the same inline functions. An algorithm is written once, as an always-inline function
// that takes these functions as constant pointers. Each level instantiates the algorithm in a function with the level's
// target attribute. The processor's level is found when the program starts. The masks are the same at every level.
//
// A mask describes bytes, not grammar. The algorithm keeps the state before the block (an open string, a backslash at
// the end of the block before) and cuts off bytes behind the text. All 64 bytes must be readable.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/base/limits.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { JSON_BLOCK_BYTES = 64 };
static_assert((int)JSON_BLOCK_BYTES <= (int)BUFFER_SLACK_BYTES,
              "a block that begins inside a text is readable");

struct json_string_masks {
    uint64_t quote;
    uint64_t backslash;
    uint64_t control; // bytes below 0x20
};

struct json_bracket_masks {
    uint64_t quote;
    uint64_t backslash;
    uint64_t open; // brackets of either kind
    uint64_t close;
};

// Masks of the tokens between strings.
struct json_token_masks {
    uint64_t open; // brackets of either kind
    uint64_t close;
    uint64_t colon;
    uint64_t comma;
    uint64_t space; // white space
};

typedef struct json_string_masks json_string_masks_of(const uint8_t *block);
typedef struct json_bracket_masks json_bracket_masks_of(const uint8_t *block);
typedef struct json_token_masks json_token_masks_of(const uint8_t *block);
// Returns the bytes that may follow the backslash of an escape.
typedef uint64_t json_escape_of(const uint8_t *block);
// Returns the bytes from 0x80 up.
typedef uint64_t json_high_of(const uint8_t *block);
// Returns whether one of four blocks has a byte from 0x80 up.
enum { JSON_HIGH_BYTES = 4 * JSON_BLOCK_BYTES };
typedef bool json_any_high_of(const uint8_t *blocks);
// Returns a word whose bit i is the parity of the bits 0 to i.
typedef uint64_t json_parity_of(uint64_t bits);

#define JSON_INLINE        static inline __attribute__((always_inline))
#define JSON_TARGET_AVX2   __attribute__((target("avx2,bmi,bmi2,popcnt,pclmul")))
#define JSON_TARGET_AVX512 __attribute__((target("avx512f,avx512bw,avx2,bmi,bmi2,popcnt,pclmul")))

JSON_INLINE bool likely(bool condition) {
    return __builtin_expect(condition, true);
}

// Returns the bits below `index`; all bits from 64 on.
JSON_INLINE uint64_t json_bits_below(uint64_t index) {
    return index < 64 ? (UINT64_C(1) << index) - 1 : UINT64_MAX;
}
JSON_INLINE uint32_t json_lowest(uint64_t bits) {
    assert(bits != 0);
    return (uint32_t)__builtin_ctzll(bits);
}

// Returns which of the `doubtful` quotes, those behind two or more backslashes, are escaped: an odd run of backslashes
// escapes. No run goes back beyond `floor`. Each run is counted once, so the cost over a whole text is at most its
// length.
static __attribute__((noinline, unused)) uint64_t json_quotes_escaped(const uint8_t *text, uint64_t block,
                                                                      uint64_t floor, uint64_t doubtful) {
    assert(floor <= block && doubtful != 0);
    uint64_t escaped = 0;
    for (; doubtful != 0; doubtful &= doubtful - 1) {
        uint64_t quote = block + json_lowest(doubtful), at = quote;
        while (at > floor && text[at - 1] == '\\')
            at--;
        if ((quote - at) % 2 != 0)
            escaped |= doubtful & -doubtful;
    }
    return escaped;
}

// Returns the quotes of a block that are not escaped. *before has the backslashes of the block before (0: none); the
// function sets *before to those of this block. Nearly always the one or two bytes before the quote decide, so no block
// waits for the block before.
JSON_INLINE uint64_t json_quotes(const uint8_t *text, uint64_t block, uint64_t floor, uint64_t quote,
                                 uint64_t backslash, uint64_t *before) {
    assert(floor <= block);
    uint64_t one = backslash << 1 | *before >> 63;
    uint64_t two = one & (backslash << 2 | *before >> 62);
    uint64_t doubtful = quote & two;
    *before = backslash;
    if (__builtin_expect(doubtful != 0, 0))
        one &= ~doubtful | json_quotes_escaped(text, block, floor, doubtful);
    return quote & ~one;
}

// Returns the tokens that come next behind `tokens`, over white space. *carry is 1 if the block begins behind such a
// token, perhaps with white space between; the function sets *carry for the next block.
JSON_INLINE uint64_t json_next_behind(uint64_t tokens, uint64_t space, uint64_t *carry) {
    assert(*carry <= 1 && (tokens & space) == 0);
    uint64_t starts = tokens << 1 | *carry, sum;
    bool over = __builtin_add_overflow(starts & space, space, &sum);
    *carry = tokens >> 63 | over;
    return (starts | sum) & ~space;
}

// --- Portable: eight bytes at a time in a word.

JSON_INLINE uint64_t json_word_load(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}
// Gathers the top bits of the eight bytes: 0x80 in byte k becomes bit k.
JSON_INLINE uint64_t json_word_gather(uint64_t tops) {
    assert((tops & ~UINT64_C(0x8080808080808080)) == 0);
    return (tops >> 7) * UINT64_C(0x0102040810204080) >> 56;
}
JSON_INLINE uint64_t json_word_zero(uint64_t word) {
    const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
    return json_word_gather(~(((word & low) + low) | word | low));
}
JSON_INLINE uint64_t json_word_equal(uint64_t word, uint8_t byte) {
    return json_word_zero(word ^ UINT64_C(0x0101010101010101) * byte);
}

JSON_INLINE struct json_string_masks json_string_masks_portable(const uint8_t *block) {
    struct json_string_masks masks = {0};
    for (unsigned at = 0; at < JSON_BLOCK_BYTES; at += 8) {
        uint64_t word = json_word_load(block + at);
        masks.quote |= json_word_equal(word, '"') << at;
        masks.backslash |= json_word_equal(word, '\\') << at;
        masks.control |= json_word_zero(word & UINT64_C(0xe0e0e0e0e0e0e0e0)) << at;
    }
    assert((masks.quote & masks.backslash) == 0 && ((masks.quote | masks.backslash) & masks.control) == 0);
    return masks;
}

JSON_INLINE struct json_bracket_masks json_bracket_masks_portable(const uint8_t *block) {
    struct json_bracket_masks masks = {0};
    for (unsigned at = 0; at < JSON_BLOCK_BYTES; at += 8) {
        uint64_t word = json_word_load(block + at);
        uint64_t curly =
            word | UINT64_C(0x2020202020202020); // '[' and ']' differ from '{' and '}' in this bit
        masks.quote |= json_word_equal(word, '"') << at;
        masks.backslash |= json_word_equal(word, '\\') << at;
        masks.open |= json_word_equal(curly, '{') << at;
        masks.close |= json_word_equal(curly, '}') << at;
    }
    assert((masks.open & masks.close) == 0);
    return masks;
}

JSON_INLINE struct json_token_masks json_token_masks_portable(const uint8_t *block) {
    struct json_token_masks masks = {0};
    for (unsigned at = 0; at < JSON_BLOCK_BYTES; at += 8) {
        uint64_t word = json_word_load(block + at);
        uint64_t curly = word | UINT64_C(0x2020202020202020);
        masks.open |= json_word_equal(curly, '{') << at;
        masks.close |= json_word_equal(curly, '}') << at;
        masks.colon |= json_word_equal(word, ':') << at;
        masks.comma |= json_word_equal(word, ',') << at;
        masks.space |= (json_word_equal(word, ' ') | json_word_equal(word, '\n') |
                        json_word_equal(word, '\r') | json_word_equal(word, '\t'))
                       << at;
    }
    return masks;
}

JSON_INLINE uint64_t json_escape_portable(const uint8_t *block) {
    static const char letters[] = "\"\\/bfnrtu";
    uint64_t mask = 0;
    for (unsigned at = 0; at < JSON_BLOCK_BYTES; at += 8) {
        uint64_t word = json_word_load(block + at);
        for (unsigned index = 0; index < sizeof letters - 1; index++)
            mask |= json_word_equal(word, (uint8_t)letters[index]) << at;
    }
    return mask;
}

JSON_INLINE uint64_t json_high_portable(const uint8_t *block) {
    uint64_t high = 0;
    for (unsigned at = 0; at < JSON_BLOCK_BYTES; at += 8)
        high |= json_word_gather(json_word_load(block + at) & UINT64_C(0x8080808080808080)) << at;
    return high;
}

JSON_INLINE bool json_any_high_portable(const uint8_t *blocks) {
    uint64_t all = 0;
    for (unsigned at = 0; at < JSON_HIGH_BYTES; at += 8)
        all |= json_word_load(blocks + at);
    return (all & UINT64_C(0x8080808080808080)) != 0;
}

JSON_INLINE uint64_t json_parity_portable(uint64_t bits) {
    for (unsigned shift = 1; shift < 64; shift <<= 1)
        bits ^= bits << shift;
    return bits;
}

#if defined(__x86_64__)

// --- AVX2: two halves of 32 bytes.

JSON_TARGET_AVX2 JSON_INLINE uint64_t json_join_avx2(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}
JSON_TARGET_AVX2 JSON_INLINE uint64_t json_equal_avx2(__m256i low, __m256i high, char byte) {
    __m256i all = _mm256_set1_epi8(byte);
    return json_join_avx2(_mm256_cmpeq_epi8(low, all), _mm256_cmpeq_epi8(high, all));
}

JSON_TARGET_AVX2 JSON_INLINE struct json_string_masks json_string_masks_avx2(const uint8_t *block) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    __m256i last = _mm256_set1_epi8(0x1f);
    return (struct json_string_masks){
        .quote = json_equal_avx2(low, high, '"'),
        .backslash = json_equal_avx2(low, high, '\\'),
        .control = json_join_avx2(_mm256_cmpeq_epi8(_mm256_min_epu8(low, last), low),
                                  _mm256_cmpeq_epi8(_mm256_min_epu8(high, last), high)),
    };
}

JSON_TARGET_AVX2 JSON_INLINE struct json_bracket_masks json_bracket_masks_avx2(const uint8_t *block) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    __m256i curly = _mm256_set1_epi8(0x20);
    __m256i low_curly = _mm256_or_si256(low, curly), high_curly = _mm256_or_si256(high, curly);
    return (struct json_bracket_masks){
        .quote = json_equal_avx2(low, high, '"'),
        .backslash = json_equal_avx2(low, high, '\\'),
        .open = json_equal_avx2(low_curly, high_curly, '{'),
        .close = json_equal_avx2(low_curly, high_curly, '}'),
    };
}

// White space is found by its low half byte: the table has at each place the character of white space with this low
// half, or zero, which has another low half.
#define JSON_SPACE_TABLE ' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0
// Two tables, by low and high half byte. Their entries share a bit only for a character that may be escaped.
#define JSON_ESCAPE_LOW  0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1
#define JSON_ESCAPE_HIGH 0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0

JSON_TARGET_AVX2 JSON_INLINE __m256i json_table_avx2(__m128i table) {
    return _mm256_broadcastsi128_si256(table);
}
JSON_TARGET_AVX2 JSON_INLINE struct json_token_masks json_token_masks_avx2(const uint8_t *block) {
    __m256i low = _mm256_loadu_si256((const __m256i *)block);
    __m256i high = _mm256_loadu_si256((const __m256i *)(block + 32));
    __m256i curly = _mm256_set1_epi8(0x20);
    __m256i low_curly = _mm256_or_si256(low, curly), high_curly = _mm256_or_si256(high, curly);
    __m256i spaces = json_table_avx2(_mm_setr_epi8(JSON_SPACE_TABLE));
    return (struct json_token_masks){
        .open = json_equal_avx2(low_curly, high_curly, '{'),
        .close = json_equal_avx2(low_curly, high_curly, '}'),
        .colon = json_equal_avx2(low, high, ':'),
        .comma = json_equal_avx2(low, high, ','),
        .space = json_join_avx2(_mm256_cmpeq_epi8(_mm256_shuffle_epi8(spaces, low), low),
                                _mm256_cmpeq_epi8(_mm256_shuffle_epi8(spaces, high), high)),
    };
}

JSON_TARGET_AVX2 JSON_INLINE __m256i json_unescapable_avx2(__m256i bytes) {
    __m256i half = _mm256_set1_epi8(0x0f);
    __m256i low =
        _mm256_shuffle_epi8(json_table_avx2(_mm_setr_epi8(JSON_ESCAPE_LOW)), _mm256_and_si256(bytes, half));
    __m256i high = _mm256_shuffle_epi8(json_table_avx2(_mm_setr_epi8(JSON_ESCAPE_HIGH)),
                                       _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
    return _mm256_cmpeq_epi8(_mm256_and_si256(low, high), _mm256_setzero_si256());
}
JSON_TARGET_AVX2 JSON_INLINE uint64_t json_escape_avx2(const uint8_t *block) {
    return ~json_join_avx2(json_unescapable_avx2(_mm256_loadu_si256((const __m256i *)block)),
                           json_unescapable_avx2(_mm256_loadu_si256((const __m256i *)(block + 32))));
}

JSON_TARGET_AVX2 JSON_INLINE uint64_t json_high_avx2(const uint8_t *block) {
    return json_join_avx2(_mm256_loadu_si256((const __m256i *)block),
                          _mm256_loadu_si256((const __m256i *)(block + 32)));
}

JSON_TARGET_AVX2 JSON_INLINE bool json_any_high_avx2(const uint8_t *blocks) {
    const __m256i_u *bytes = (const __m256i_u *)blocks; // in pairs, so that none waits for the one before
    __m256i first = _mm256_or_si256(bytes[0], bytes[1]), second = _mm256_or_si256(bytes[2], bytes[3]);
    __m256i third = _mm256_or_si256(bytes[4], bytes[5]), fourth = _mm256_or_si256(bytes[6], bytes[7]);
    __m256i all = _mm256_or_si256(_mm256_or_si256(first, second), _mm256_or_si256(third, fourth));
    return _mm256_movemask_epi8(all) != 0;
}

// Computes the parity: a carry-less product with all ones adds each bit to all bits above it.
JSON_TARGET_AVX2 JSON_INLINE uint64_t json_parity_avx2(uint64_t bits) {
    __m128i product = _mm_clmulepi64_si128(_mm_set_epi64x(0, (int64_t)bits), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(product);
}

// --- AVX-512: the comparison gives the mask.

JSON_TARGET_AVX512 JSON_INLINE struct json_string_masks json_string_masks_avx512(const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block);
    return (struct json_string_masks){
        .quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
        .backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
        .control = _mm512_cmplt_epu8_mask(bytes, _mm512_set1_epi8(0x20)),
    };
}

JSON_TARGET_AVX512 JSON_INLINE struct json_bracket_masks json_bracket_masks_avx512(const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block);
    __m512i curly = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    return (struct json_bracket_masks){
        .quote = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
        .backslash = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
        .open = _mm512_cmpeq_epi8_mask(curly, _mm512_set1_epi8('{')),
        .close = _mm512_cmpeq_epi8_mask(curly, _mm512_set1_epi8('}')),
    };
}

JSON_TARGET_AVX512 JSON_INLINE __m512i json_table_avx512(__m128i table) {
    return _mm512_broadcast_i32x4(table);
}
JSON_TARGET_AVX512 JSON_INLINE struct json_token_masks json_token_masks_avx512(const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block);
    __m512i curly = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    __m512i spaces = json_table_avx512(_mm_setr_epi8(JSON_SPACE_TABLE));
    return (struct json_token_masks){
        .open = _mm512_cmpeq_epi8_mask(curly, _mm512_set1_epi8('{')),
        .close = _mm512_cmpeq_epi8_mask(curly, _mm512_set1_epi8('}')),
        .colon = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(':')),
        .comma = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(',')),
        .space = _mm512_cmpeq_epi8_mask(_mm512_shuffle_epi8(spaces, bytes), bytes),
    };
}

JSON_TARGET_AVX512 JSON_INLINE uint64_t json_escape_avx512(const uint8_t *block) {
    __m512i bytes = _mm512_loadu_si512(block), half = _mm512_set1_epi8(0x0f);
    __m512i low =
        _mm512_shuffle_epi8(json_table_avx512(_mm_setr_epi8(JSON_ESCAPE_LOW)), _mm512_and_si512(bytes, half));
    __m512i high = _mm512_shuffle_epi8(json_table_avx512(_mm_setr_epi8(JSON_ESCAPE_HIGH)),
                                       _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half));
    return _mm512_test_epi8_mask(low, high);
}

JSON_TARGET_AVX512 JSON_INLINE uint64_t json_high_avx512(const uint8_t *block) {
    return _mm512_movepi8_mask(_mm512_loadu_si512(block));
}

JSON_TARGET_AVX512 JSON_INLINE bool json_any_high_avx512(const uint8_t *blocks) {
    __m512i all = _mm512_or_si512(_mm512_loadu_si512(blocks), _mm512_loadu_si512(blocks + JSON_BLOCK_BYTES));
    __m512i more = _mm512_or_si512(_mm512_loadu_si512(blocks + 2 * JSON_BLOCK_BYTES),
                                   _mm512_loadu_si512(blocks + 3 * JSON_BLOCK_BYTES));
    return _mm512_movepi8_mask(_mm512_or_si512(all, more)) != 0;
}

JSON_TARGET_AVX512 JSON_INLINE uint64_t json_parity_avx512(uint64_t bits) {
    return json_parity_avx2(bits);
}

#endif

// --- Depth

// Finds the end of a container, 64 bytes at a time, by counting brackets. A block's brackets outside strings are two
// masks. If fewer brackets close than are open, the whole block is inside. Only a block in which the count could reach
// zero is read bracket by bracket. Any depth costs the same, and needs no memory. The count ignores which kind of
// bracket closes which. For json_string.c and the walks of the lookup alone.

// The state from block to block. All zeros before the block with the opening bracket.
struct json_depth {
    uint64_t open;   // number of open brackets
    uint64_t inside; // all ones if the block begins in a string
};

// Returns the place in the block of the bracket that brings `depth` to zero; JSON_BLOCK_BYTES if there is none.
JSON_INLINE uint32_t json_last_close(uint64_t open, uint64_t close, uint64_t depth) {
    assert((open & close) == 0);
    while (close != 0) {
        uint64_t below = (close & -close) - 1;
        depth--;
        if (depth + (uint64_t)__builtin_popcountll(open & below) == 0)
            return json_lowest(close);
        close &= close - 1;
    }
    return JSON_BLOCK_BYTES;
}

// Counts the brackets of a block. `quotes` are the unescaped quotes, `open` and `close` all brackets. Returns the place
// where the last bracket closes, or JSON_BLOCK_BYTES.
JSON_INLINE uint32_t json_depth_block(struct json_depth *depth, json_parity_of *parity_of, uint64_t quotes,
                                      uint64_t open, uint64_t close) {
    uint64_t in_string = parity_of(quotes) ^ depth->inside;
    depth->inside = (uint64_t)((int64_t)in_string >> 63);
    open &= ~in_string;
    close &= ~in_string;
    uint64_t closes = (uint64_t)__builtin_popcountll(close);
    if (closes >= depth->open && closes != 0) {
        uint32_t last = json_last_close(open, close, depth->open);
        if (last < JSON_BLOCK_BYTES)
            return last;
    }
    depth->open += (uint64_t)__builtin_popcountll(open) - closes;
    assert(depth->open > 0);
    return JSON_BLOCK_BYTES;
}

// --- Digits

// Skips digits: the hub's own ids have sixteen. For json.c, json_valid.c and the walks of the lookup alone.

// Returns a word with a bit set in each of the eight bytes that is no ASCII digit, and with zeros in the other bytes.
JSON_INLINE uint64_t json_word_no_digits(uint64_t word) {
    uint64_t low = word & UINT64_C(0x0f0f0f0f0f0f0f0f), high = word ^ low;
    return (high ^ UINT64_C(0x3030303030303030)) |
           ((low + UINT64_C(0x0606060606060606)) & UINT64_C(0x1010101010101010));
}
// Returns the offset behind the digits from `at` on; `end` or more if the digits reach `end`.
JSON_INLINE uint32_t json_skip_digits(const uint8_t *text, uint32_t at, uint32_t end) {
    assert(at < end);
#ifdef __SSE2__
    __m128i nine = _mm_set1_epi8(9);
    do {
        __m128i bytes = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(text + at)), _mm_set1_epi8('0'));
        unsigned digits = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(bytes, nine), bytes));
        if (likely(digits != 0xffff))
            return at + json_lowest(~digits);
        at += 16;
    } while (at < end);
#else
    do {
        uint64_t other = json_word_no_digits(json_word_load(text + at));
        if (other != 0)
            return at + json_lowest(other) / 8;
        at += 8;
    } while (at < end);
#endif
    return at;
}
// Returns the offset behind a whole number without a sign, or `at` if there is none: a fast path. Of the bytes behind
// the number, only a fraction or an exponent is refused.
JSON_INLINE uint32_t json_skip_whole_number(const uint8_t *text, uint32_t at, uint32_t end) {
    uint32_t behind = json_skip_digits(text, at, end);
    if (behind > end)
        return at;
    uint8_t next = text[behind];
    bool plain = next != '.' && (next | 0x20) != 'e' && (behind - at == 1 || text[at] != '0');
    return plain ? behind : at;
}
