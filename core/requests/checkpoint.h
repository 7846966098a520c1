// Checkpoints: the names of held messages, `gate:` and 128 random bits, and the preview of a held message.
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

// Writes the name: CHECKPOINT_BYTES bytes, without a terminating zero.
void checkpoint_write(const struct checkpoint *checkpoint, char *out);
// Reads a name, exactly as checkpoint_write writes it. Returns false for any other text.
bool checkpoint_read(const char *name, size_t bytes, struct checkpoint *checkpoint);
// Returns how many bytes of a body, in UTF-8, its preview has: up to CHECKPOINT_PREVIEW_BYTES, cut between characters.
size_t checkpoint_preview(const uint8_t *body, size_t bytes);
