// A growing piece of text for what the hub itself says: replies and their data. A write that finds no memory
// marks the text as failed and further writes do nothing, so that a writer asks once, at the end.
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct text {
    char *bytes; // from memory_take; text_deinit or whoever takes it gives it back
    size_t length;
    size_t capacity;
    bool failed;
};

static inline void text_init(struct text *text) {
    *text = (struct text){0};
}
void text_deinit(struct text *text);

// Makes room for so many more bytes, which then can't fail.
bool text_reserve(struct text *text, size_t count);
// Makes room for so many more bytes. False without memory: the text stays as it was and hasn't failed.
bool text_try_reserve(struct text *text, size_t count);
void text_add(struct text *text, const void *bytes, size_t count);
// A C string as it is.
void text_put(struct text *text, const char *string);
void text_number(struct text *text, int64_t number);
// A JSON string with its quotes: quote, backslash and control characters escaped, all else as it is.
void text_string(struct text *text, const char *string, size_t bytes);
// The number of bytes that text_string adds.
size_t text_string_bytes(const char *string, size_t bytes);

// Copies bytes; returns where the next ones go.
static inline char *text_copy(char *to, const void *bytes, size_t count) {
    memcpy(to, bytes, count);
    return to + count;
}

// Writes `number` in decimal at `out`, without a terminating zero, and returns the number of digits, 20 at
// most. A number with fewer than 8 digits takes 8 bytes of `out` all the same.
size_t text_digits(char *out, uint64_t number);
// Reads a number that is written in decimal digits alone, of which zeros may come first. False: the text is none, or
// means more than `max`.
bool text_read_digits(const void *text, size_t bytes, uint64_t max, uint64_t *number);

// Returns the first offset from `at` to below `end` that has this byte, or `end`. Words are mostly short, so eight bytes are
// looked at together, without a call.
static inline uint32_t text_find(const uint8_t *text, uint32_t at, uint32_t end, uint8_t byte) {
    const uint64_t ones = UINT64_C(0x0101010101010101), all = ones * byte;
    for (; end - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, text + at, 8);
        word = le64toh(word) ^ all;
        uint64_t zeros = (word - ones) & ~word & ones << 7; // the lowest is one; those above may be none
        if (zeros)
            return at + (uint32_t)__builtin_ctzll(zeros) / 8;
    }
    while (at < end && text[at] != byte)
        at++;
    return at;
}

// --- Units

// Numbers with a unit, as people write them in options and files: 250ms, 5s, 10m, 1h; 64K, 16M, 1G; plain
// counts. Success: the whole text is decimal digits and one suffix. Failure: any other text, or a product
// that doesn't fit; nothing is written then.

// A time in nanoseconds; the suffix (us, ms, s, m, h) is required.
bool units_time(const char *text, uint64_t *out_ns);
// A size in bytes; K, M and G are powers of 1,024.
bool units_size(const char *text, uint64_t *out_bytes);
bool units_count(const char *text, uint64_t *out);
// A part of a whole, from 0 to 1, in decimal digits with up to 9 of them behind a point: in billionths.
enum { UNITS_WHOLE = 1000000000 };
bool units_fraction(const char *text, uint64_t *out_billionths);

// --- Timestamps

// Points in time as text: ISO 8601 in UTC with milliseconds, 2026-11-21T13:21:58.123Z.

enum { TIMESTAMP_BYTES = 24 };

// Writes the time that is `unix_ms` milliseconds after the beginning of 1970 at `out`: TIMESTAMP_BYTES, no
// terminating zero. A time behind the year 9999 is written as the last millisecond of that year.
void timestamp_write(char *out, uint64_t unix_ms);

enum { TIMESTAMP_HTTP_BYTES = 29 };

// Writes the time that is `unix_s` seconds after the beginning of 1970 as HTTP's Date has it (RFC 9110, 5.6.7):
// Sun, 06 Nov 1994 08:49:37 GMT; TIMESTAMP_HTTP_BYTES, no terminating zero.
void timestamp_write_http(char *out, uint64_t unix_s);
