// Numbers with a unit, as people write them in options and files: 250ms, 5s, 10m, 1h; 64K, 16M, 1G; plain
// counts. Success: the whole text is decimal digits and one suffix. Failure: any other text, or a product
// that doesn't fit; nothing is written then.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// A time in nanoseconds; the suffix (us, ms, s, m, h) is required.
bool units_time(const char *text, uint64_t *out_ns);
// A size in bytes; K, M and G are powers of 1,024.
bool units_size(const char *text, uint64_t *out_bytes);
bool units_count(const char *text, uint64_t *out);
