// Stepping over digits: the hub's own ids have sixteen. Not for anyone but json.c, json_valid.c and the walks of the
// lookup.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/json/json_block.h"

// Has a bit set in each of eight bytes that is no ASCII digit, and none in the others.
JSON_INLINE uint64_t json_word_no_digits(uint64_t word) {
    uint64_t low = word & UINT64_C(0x0f0f0f0f0f0f0f0f), high = word ^ low;
    return (high ^ UINT64_C(0x3030303030303030)) |
           ((low + UINT64_C(0x0606060606060606)) & UINT64_C(0x1010101010101010));
}
// The offset behind the digits from `at` on; `end` or more when they go on to there.
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
// Returns the offset behind a whole number without a sign, or `at` when there is none: a short cut. Bytes
// behind the number are not looked at, but that it doesn't go on as a fraction or an exponent.
JSON_INLINE uint32_t json_skip_whole_number(const uint8_t *text, uint32_t at, uint32_t end) {
    uint32_t behind = json_skip_digits(text, at, end);
    if (behind > end)
        return at;
    uint8_t next = text[behind];
    bool plain = next != '.' && (next | 0x20) != 'e' && (behind - at == 1 || text[at] != '0');
    return plain ? behind : at;
}
