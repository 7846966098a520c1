// Fetches memory that will be wanted soon while the processor does something else, line by line. No caller
// waits for it, and memory that isn't there does no harm.
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
