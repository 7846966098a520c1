// A piece of a header block: a field's name or value, or a part of one. It owns nothing.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

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
