// Points in time as text: ISO 8601 in UTC with milliseconds, 2026-11-21T13:21:58.123Z.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { TIMESTAMP_BYTES = 24 };

// Writes the time that is `unix_ms` milliseconds after the beginning of 1970 at `out`: TIMESTAMP_BYTES, no
// terminating zero. A time behind the year 9999 is written as the last millisecond of that year.
void timestamp_write(char *out, uint64_t unix_ms);

enum { TIMESTAMP_HTTP_BYTES = 29 };

// Writes the time that is `unix_s` seconds after the beginning of 1970 as HTTP's Date has it (RFC 9110, 5.6.7):
// Sun, 06 Nov 1994 08:49:37 GMT; TIMESTAMP_HTTP_BYTES, no terminating zero.
void timestamp_write_http(char *out, uint64_t unix_s);
