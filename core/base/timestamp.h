// Points in time as text: ISO 8601 in UTC with milliseconds, 2026-11-21T13:21:58.123Z.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TIMESTAMP_BYTES = 24 };

// Writes the time that is `unix_ms` milliseconds after the beginning of 1970 at `out`: TIMESTAMP_BYTES, no
// terminating zero. What lies behind the year 9999 is written as its last millisecond.
void timestamp_write(char *out, uint64_t unix_ms);
