#include "tools/output.h"

#include <stdbool.h>

#include "core/json/simdjson.h"
#include "core/log/log_event.h"

enum { REPLACEMENT = 0xfffd };

// Returns the character of `length` bytes of UTF-8.
static unsigned character_of(const uint8_t *text, size_t length) {
    unsigned character = length == 1 ? text[0] : text[0] & (0x7fu >> length);
    for (size_t at = 1; at < length; at++) {
        character = character << 6 | (text[at] & 0x3fu);
    }
    return character;
}

// Returns the length of the character at the text's start, and the character's number if that is a control or hidden
// character. All other characters count as a space. Each byte that is no UTF-8 is a U+FFFD.
static size_t next(const uint8_t *text, size_t bytes, unsigned *character) {
    uint8_t lead = text[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *character = ' ';
    if (length > bytes || !simdjson_utf8(text, length)) {
        *character = REPLACEMENT;
        return 1;
    }
    if (lead < 0x20 || lead == 0x7f) {
        *character = lead;
    } else if (lead == 0xc2 && text[1] < 0xa0) {
        *character = text[1];
    } else if (log_is_hidden(character_of(text, length))) {
        *character = character_of(text, length);
    }
    return length;
}

// Writes a character's escape in JSON, which is two escapes past U+FFFF. Returns the length.
static size_t put_escape(FILE *out, unsigned character) {
    if (character < 0x10000) {
        return (size_t)fprintf(out, "\\u%04x", character);
    }
    unsigned rest = character - 0x10000;
    return (size_t)fprintf(out, "\\u%04x\\u%04x", 0xd800u + (rest >> 10), 0xdc00u + (rest & 0x3ff));
}

void output_line(FILE *out, const uint8_t *text, size_t bytes) {
    unsigned character;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = next(text + at, bytes - at, &character);
        if (character > 0x20) {
            put_escape(out, character);
        } else if (character < 0x20) {
            putc(' ', out);
        } else {
            fwrite(text + at, 1, length, out);
        }
    }
    putc('\n', out);
}

size_t output_text(FILE *out, const uint8_t *text, size_t bytes) {
    unsigned character;
    size_t count = 0;
    for (size_t at = 0, length; at < bytes; at += length, count++) {
        length = next(text + at, bytes - at, &character);
        if (character == ' ') {
            fwrite(text + at, 1, length, out);
        } else if (character != REPLACEMENT && log_is_hidden(character)) {
            count += put_escape(out, character) - 1;
        } else {
            putc('?', out);
        }
    }
    return count;
}

void output_escaped(FILE *out, const uint8_t *text, size_t bytes) {
    unsigned character;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = next(text + at, bytes - at, &character);
        if (character != ' ') {
            put_escape(out, character);
        } else {
            fwrite(text + at, 1, length, out);
        }
    }
}
