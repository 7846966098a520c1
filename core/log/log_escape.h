// Escapes text from outside for a log: control characters, and bytes that aren't UTF-8, are written as \xNN, so
// that nobody can forge a line or speak to a terminal.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Returns how many bytes the character at `bytes` has, of which `count` (at least 1) are there. 0: it must be escaped.
size_t log_printable(const uint8_t *bytes, size_t count);
// Escapes `count` bytes to `out`, which has room for four times as many; returns how many there are.
size_t log_escape(const uint8_t *bytes, size_t count, char *out);
