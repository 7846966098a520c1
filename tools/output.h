// Texts of others that commands print, in which nothing steers the terminal. Neither U+0000 to U+001F nor
// U+007F to U+009F get there, nor bytes that are no UTF-8. A character that changes the order in which a line
// is shown (U+2028 to U+202E, U+2066 to U+2069) becomes its escape.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// A JSON text on one line, which means the same and is valid if the text is. Line breaks between tokens are
// legal in JSON and become spaces; so does every other control below U+0020, which JSON can't hold but a hub
// that judges lazily lets through. The others become escapes.
void output_line(FILE *out, const uint8_t *text, size_t bytes);
// Any text on one line, each control as its escape in JSON, and what turns a line as its.
void output_escaped(FILE *out, const uint8_t *text, size_t bytes);
// Any other text; '?' stands for each control. Returns how many characters that are shown.
size_t output_text(FILE *out, const uint8_t *text, size_t bytes);
