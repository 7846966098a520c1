// Prints texts of strangers so that they can't control the terminal. U+0000 to U+001F, U+007F to U+009F and bytes that
// aren't UTF-8 never reach the terminal. A hidden character (core/log/log_event.h) becomes its escape.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// Prints a JSON text on one line, without a change of its meaning. Line breaks between tokens, which JSON allows,
// become spaces. So do other controls below U+0020, which JSON forbids but a lazy hub may let through. All other
// controls become escapes.
void output_line(FILE *out, const uint8_t *text, size_t bytes);
// Prints any text on one line. Each control and each hidden character becomes its escape in JSON.
void output_escaped(FILE *out, const uint8_t *text, size_t bytes);
// Prints any text, with '?' for each control. Returns how many characters are shown.
size_t output_text(FILE *out, const uint8_t *text, size_t bytes);
