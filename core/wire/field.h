// The syntax of a header field (RFC 9110 section 5, made strict), for all wires that have some: a name of
// token characters, a colon, and a value without control characters. Here because each byte of a header
// block passes through it, and so inline.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A piece of a header block: a field's name or value, or a part of one. It owns nothing.

struct field_text {
    const uint8_t *start;
    const uint8_t *end;
};

// White space within a line (OWS, RFC 9110 section 5.6.3).
static inline bool field_text_is_blank(uint8_t byte) {
    return byte == ' ' || byte == '\t';
}

// Without the white space around it.
static inline struct field_text field_text_trim(struct field_text text) {
    assert(text.start <= text.end);
    while (text.start < text.end && field_text_is_blank(*text.start))
        text.start++;
    while (text.start < text.end && field_text_is_blank(text.end[-1]))
        text.end--;
    return text;
}

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// Token characters (RFC 9110 section 5.6.2).
extern const bool field_token[256];

static inline bool field_is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') < 10;
}

// Anything printable, tab, and bytes from 0x80 on (RFC 9110 section 5.5, obs-text).
static inline bool field_may_be_in_value(uint8_t byte) {
    return (byte >= 0x20 && byte != 0x7f) || byte == '\t';
}

#ifdef __SSE2__
static inline __m128i field_at_most(__m128i bytes, char limit) {
    return _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(limit)), bytes);
}

// One bit for each of 16 bytes: set where it is neither letter, digit nor hyphen, of which nearly all names
// are made.
static inline unsigned field_unusual_in_name(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i lower = _mm_or_si128(text, _mm_set1_epi8(0x20));
    __m128i letters = field_at_most(_mm_sub_epi8(lower, _mm_set1_epi8('a')), 25);
    __m128i digits = field_at_most(_mm_sub_epi8(text, _mm_set1_epi8('0')), 9);
    __m128i hyphens = _mm_cmpeq_epi8(text, _mm_set1_epi8('-'));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(letters, digits), hyphens)) ^ 0xffffu;
}

// One bit for each of 16 bytes: set where field_may_be_in_value is false.
static inline unsigned field_not_in_value(const uint8_t *bytes) {
    __m128i text = _mm_loadu_si128((const __m128i *)bytes);
    __m128i tabs = _mm_cmpeq_epi8(text, _mm_set1_epi8('\t'));
    __m128i deletes = _mm_cmpeq_epi8(text, _mm_set1_epi8(0x7f));
    __m128i controls = _mm_andnot_si128(tabs, field_at_most(text, 0x1f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(controls, deletes));
}
#endif

// The offset, from `at` on, of the first byte that is no token character; `end` if there is none.
static inline uint32_t field_skip_name(const uint8_t *bytes, uint32_t at, uint32_t end) {
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned stops = field_unusual_in_name(bytes + at);
        if (stops) {
            at += (uint32_t)__builtin_ctz(stops);
            break;
        }
    }
#endif
    while (at < end && field_token[bytes[at]])
        at++;
    return at;
}

// The offset, from `at` on, of the first byte that may not stand in a value; `end` if there is none.
static inline uint32_t field_skip_value(const uint8_t *bytes, uint32_t at, uint32_t end) {
#ifdef __SSE2__
    for (; end - at >= 16; at += 16) {
        unsigned stops = field_not_in_value(bytes + at);
        if (stops)
            return at + (uint32_t)__builtin_ctz(stops);
    }
#endif
    while (at < end && field_may_be_in_value(bytes[at]))
        at++;
    return at;
}

// Eight bytes with the bit set that tells lower case from upper.
static inline uint64_t field_lower_8(const void *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word | UINT64_C(0x2020202020202020);
}

// Whether the 8 to 24 bytes of a name are `lower` but for case. A name's bytes are token characters, of which
// the bit turns only upper-case letters into lower-case ones, and nothing into a hyphen. Three words that
// overlap cover all.
static inline bool field_name_is(const uint8_t *name, const char *lower, size_t bytes) {
    size_t middle = (bytes - 8) / 2, last = bytes - 8;
    uint64_t differ = field_lower_8(name) ^ field_lower_8(lower);
    differ |= field_lower_8(name + middle) ^ field_lower_8(lower + middle);
    return (differ | (field_lower_8(name + last) ^ field_lower_8(lower + last))) == 0;
}

static inline uint8_t field_lower(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

// Whether so many bytes are `lower` but for case.
static inline bool field_is(const uint8_t *bytes, size_t count, const char *lower, size_t lower_bytes) {
    if (count != lower_bytes)
        return false;
    for (size_t at = 0; at < count; at++)
        if (field_lower(bytes[at]) != (uint8_t)lower[at])
            return false;
    return true;
}
