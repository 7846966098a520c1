// The names of what is held until somebody approves it, and what is shown of it: `gate:` and 128 random bits.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKPOINT_PREFIX "gate:"

enum {
    CHECKPOINT_BITS_BYTES = 16,
    CHECKPOINT_BYTES = sizeof CHECKPOINT_PREFIX - 1 + 2 * CHECKPOINT_BITS_BYTES,
    CHECKPOINT_PREVIEW_BYTES = 1024,
};

struct checkpoint {
    uint8_t bits[CHECKPOINT_BITS_BYTES];
};

// Writes its name: CHECKPOINT_BYTES, no terminating zero.
void checkpoint_write(const struct checkpoint *checkpoint, char *out);
// Reads a name as checkpoint_write writes it, letter by letter. False when it is none that the hub gives.
bool checkpoint_read(const char *name, size_t bytes, struct checkpoint *checkpoint);
// How many of a body's bytes, which are UTF-8, a preview has: up to CHECKPOINT_PREVIEW_BYTES, and only whole
// characters.
size_t checkpoint_preview(const uint8_t *body, size_t bytes);
