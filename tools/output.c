#include "tools/output.h"

#include <stdbool.h>

#include "core/json/simdjson.h"

enum { REPLACEMENT = 0xfffd };

// U+2028 to U+202E, and U+2066 to U+2069: what comes behind them isn't shown where it stands.
static unsigned turning(const uint8_t *text, size_t length) {
    if (length != 3 || text[0] != 0xe2) {
        return 0;
    }
    unsigned character = 0x2000u | (text[1] & 0x3fu) << 6 | (text[2] & 0x3fu);
    bool turns = (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
    return turns ? character : 0;
}

// Returns the character at the text's start and how many bytes it takes. Each byte that is no UTF-8 is a
// U+FFFD. Only the number of a control, and of a character that turns a line's order, is told, any other
// character as the space.
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
    } else if (turning(text, length)) {
        *character = turning(text, length);
    }
    return length;
}

void output_line(FILE *out, const uint8_t *text, size_t bytes) {
    unsigned character;
    for (size_t at = 0, length; at < bytes; at += length) {
        length = next(text + at, bytes - at, &character);
        if (character > 0x20) {
            fprintf(out, "\\u%04x", character);
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
        } else if (turning(text + at, length)) {
            count += (size_t)fprintf(out, "\\u%04x", character) - 1;
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
            fprintf(out, "\\u%04x", character);
        } else {
            fwrite(text + at, 1, length, out);
        }
    }
}
