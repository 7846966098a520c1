// What commands print of JSON that others wrote.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// The text on one line. Line breaks between tokens are legal in JSON and become spaces; so does every other
// control character, which JSON can't hold but a hub that judges lazily lets through, so that no peer steers
// the terminal.
void output_line(FILE *out, const uint8_t *text, size_t bytes);
