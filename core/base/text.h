// A growing piece of text for what the hub itself says: replies and their data. A write that finds no memory
// marks the text as failed and further writes do nothing, so that a writer asks once, at the end.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
// The same, but without memory for it the text stays as it was and hasn't failed.
bool text_try_reserve(struct text *text, size_t count);
void text_add(struct text *text, const void *bytes, size_t count);
// A C string as it is.
void text_put(struct text *text, const char *string);
void text_number(struct text *text, int64_t number);
// A JSON string with its quotes: quote, backslash and control characters escaped, all else as it is.
void text_string(struct text *text, const char *string, size_t bytes);

// Writes `number` in decimal at `out`, without a terminating zero, and returns the number of digits, 20 at
// most. A number with fewer than 8 digits takes 8 bytes of `out` all the same.
size_t text_digits(char *out, uint64_t number);
