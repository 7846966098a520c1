// Prints texts of others so that nothing in them steers the terminal. U+0000 to U+001F, U+007F to U+009F and bytes that
// aren't UTF-8 never reach the terminal. A hidden character (core/log/log_event.h) becomes its escape.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// A JSON text on one line, which means the same and is valid if the text is. Line breaks between tokens are
// legal in JSON and become spaces; so does every other control below U+0020, which JSON can't hold but a hub
// that judges lazily lets through. The others become escapes.
void output_line(FILE *out, const uint8_t *text, size_t bytes);
// Any text on one line, each control and each hidden character as its escape in JSON.
void output_escaped(FILE *out, const uint8_t *text, size_t bytes);
// Any other text; '?' stands for each control. Returns how many characters that are shown.
size_t output_text(FILE *out, const uint8_t *text, size_t bytes);
