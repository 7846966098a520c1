// Copying what is mostly short: the pieces around a spliced value, and the values. A call costs more than these.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// What overlaps in the middle is written twice.
static inline void copy_ends(uint8_t *out, const uint8_t *from, size_t count, size_t end) {
    memcpy(out, from, end);
    memcpy(out + count - end, from + count - end, end);
}

static inline void copy_short(void *to, const void *bytes, size_t count) {
    uint8_t *out = to;
    const uint8_t *from = bytes;
    if (count > 32) {
        memcpy(out, from, count);
    } else if (count >= 16) {
        copy_ends(out, from, count, 16);
    } else if (count >= 8) {
        copy_ends(out, from, count, 8);
    } else if (count >= 4) {
        copy_ends(out, from, count, 4);
    } else if (count > 0) {
        out[0] = from[0];
        out[count / 2] = from[count / 2];
        out[count - 1] = from[count - 1];
    }
}
