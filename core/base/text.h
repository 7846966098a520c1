// A growing text for what the hub itself writes: replies and their data. A write without memory marks the text as
// failed, and later writes then do nothing, so that a writer checks once, at the end.
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    char *bytes; // from memory_take; text_deinit frees this, or the function that takes it over
    size_t length;
    size_t capacity;
    bool failed;
};

static inline void text_init(struct text *text) {
    *text = (struct text){0};
}
void text_deinit(struct text *text);

// Makes room for `count` more bytes, so that adding these can't fail. Without memory the text has failed, and the
// result is false.
bool text_reserve(struct text *text, size_t count);
// Makes room for `count` more bytes. Returns false without memory; the text is then unchanged and hasn't failed.
bool text_try_reserve(struct text *text, size_t count);
void text_add(struct text *text, const void *bytes, size_t count);
// Adds a C string unchanged.
void text_put(struct text *text, const char *string);
void text_number(struct text *text, int64_t number);
// Adds a JSON string with its quotes: quote, backslash and control characters escaped, all else unchanged.
void text_string(struct text *text, const char *string, size_t bytes);
// Returns the number of bytes that text_string adds.
size_t text_string_bytes(const char *string, size_t bytes);

// Writes the escape of a byte that a JSON string may not have plain: quote, backslash or a control character. Returns
// the number of bytes.
enum { TEXT_ESCAPE_BYTES_MAX = 6 };
size_t text_escape(char out[TEXT_ESCAPE_BYTES_MAX], unsigned char byte);
// Returns the first offset from `at` to below `end` whose byte a JSON string may not have plain, or `end`. Compares
// eight bytes at once.
static inline size_t text_find_escaped(const char *text, size_t at, size_t end) {
    const uint64_t ones = UINT64_C(0x0101010101010101);
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, 8);
        word = le64toh(word);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        // The lowest set bit is a match; bits above may be none
        uint64_t found =
            ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((word - ones * ' ') & ~word);
        found &= ones << 7;
        if (found)
            return at + (size_t)__builtin_ctzll(found) / 8;
    }
    while (at < end && (unsigned char)text[at] >= ' ' && text[at] != '"' && text[at] != '\\')
        at++;
    return at;
}

// Copies bytes. Returns the place behind the copy.
static inline char *text_copy(char *to, const void *bytes, size_t count) {
    memcpy(to, bytes, count);
    return to + count;
}

// Writes `number` in decimal at `out`, without a terminating zero, and returns the number of digits, 20 at most. Writes
// at least 8 bytes of `out`, even for fewer digits.
size_t text_digits(char *out, uint64_t number);
// Reads a number that is written in decimal digits alone, with or without leading zeros. Returns false if the text is
// none, or if the number is over `max`.
bool text_read_digits(const void *text, size_t bytes, uint64_t max, uint64_t *number);

// Returns the first offset from `at` to below `end` that has this byte, or `end`. Words are mostly short, so eight
// bytes are compared at once, without a call.
static inline uint32_t text_find(const uint8_t *text, uint32_t at, uint32_t end, uint8_t byte) {
    const uint64_t ones = UINT64_C(0x0101010101010101), all = ones * byte;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, 8);
        word = le64toh(word) ^ all;
        // The lowest set bit is a match; bits above may be none
        uint64_t zeros = (word - ones) & ~word & ones << 7;
        if (zeros)
            return at + (uint32_t)__builtin_ctzll(zeros) / 8;
    }
    while (at < end && text[at] != byte)
        at++;
    return at;
}

// --- Units

// Reads numbers with a unit, as people write them in options and files: 250ms, 5s, 10m, 1h; 64K, 16M, 1G; plain counts.
// The whole text must be decimal digits and one suffix. For any other text, or a product that doesn't fit, the result
// is false and nothing is written.

// Reads a time in nanoseconds; the suffix (us, ms, s, m, h) is required.
bool units_time(const char *text, uint64_t *out_ns);
// Reads a size in bytes; K, M and G are powers of 1,024.
bool units_size(const char *text, uint64_t *out_bytes);
bool units_count(const char *text, uint64_t *out);
// Reads a part of a whole, from 0 to 1, in decimal digits with up to 9 of them behind a point. The result is in
// billionths.
enum { UNITS_WHOLE = 1000000000 };
bool units_fraction(const char *text, uint64_t *out_billionths);

// --- Timestamps

// Writes points in time as text: ISO 8601 in UTC with milliseconds, 2026-11-21T13:21:58.123Z.

enum { TIMESTAMP_BYTES = 24 };

// Writes the time `unix_ms` milliseconds after the beginning of 1970 at `out`: TIMESTAMP_BYTES, without a terminating
// zero. A time after the year 9999 is written as the last millisecond of that year.
void timestamp_write(char *out, uint64_t unix_ms);

enum { TIMESTAMP_HTTP_BYTES = 29 };

// Writes the time `unix_s` seconds after the beginning of 1970 as in HTTP's Date (RFC 9110, 5.6.7): Sun, 06 Nov 1994
// 08:49:37 GMT; TIMESTAMP_HTTP_BYTES, without a terminating zero.
void timestamp_write_http(char *out, uint64_t unix_s);
