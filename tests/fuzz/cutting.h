// How a fuzzer's input arrives: whole, or in parts whose sizes a seed says, often of one byte.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How many of the bytes that are left come next. Moves the seed on.
static inline size_t cutting_next(uint32_t *seed, size_t left, bool cut) {
    *seed = *seed * 1664525u + 1013904223u;
    size_t count = !cut ? SIZE_MAX : *seed >> 16 & 1 ? 1 : *seed >> 20 & 63;
    return count < left ? count : left;
}
