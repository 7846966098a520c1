// What will be wanted soon is fetched while something else is done, line by line, as the processor does it. Nobody waits for it, and
// memory that isn't there does no harm.
#pragma once

#include <stddef.h>

enum { CACHE_LINE_BYTES = 64 };

static inline void prefetch_to_read(const void *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)memory + at);
}

static inline void prefetch_to_write(const void *memory, size_t bytes) {
    for (size_t at = 0; at < bytes; at += CACHE_LINE_BYTES)
        __builtin_prefetch((const char *)memory + at, 1);
}
