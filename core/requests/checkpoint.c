#include "core/requests/checkpoint.h"

#include <assert.h>
#include <string.h>

static const char digits[] = "0123456789abcdef";
enum { PREFIX_BYTES = sizeof CHECKPOINT_PREFIX - 1 };

void checkpoint_write(const struct checkpoint *checkpoint, char *out) {
    assert(checkpoint && out);
    memcpy(out, CHECKPOINT_PREFIX, PREFIX_BYTES);
    out += PREFIX_BYTES;
    for (unsigned at = 0; at < CHECKPOINT_BITS_BYTES; at++) {
        *out++ = digits[checkpoint->bits[at] >> 4];
        *out++ = digits[checkpoint->bits[at] & 15];
    }
}

static int value_of(char digit) {
    const char *found = digit ? strchr(digits, digit) : NULL;
    return found ? (int)(found - digits) : -1;
}

bool checkpoint_read(const char *name, size_t bytes, struct checkpoint *checkpoint) {
    assert(name && checkpoint);
    if (bytes != CHECKPOINT_BYTES || memcmp(name, CHECKPOINT_PREFIX, PREFIX_BYTES) != 0)
        return false;
    for (unsigned at = 0; at < CHECKPOINT_BITS_BYTES; at++) {
        int high = value_of(name[PREFIX_BYTES + 2 * at]), low = value_of(name[PREFIX_BYTES + 2 * at + 1]);
        if (high < 0 || low < 0)
            return false;
        checkpoint->bits[at] = (uint8_t)(high << 4 | low);
    }
    return true;
}

// Returns whether the byte is a continuation byte of UTF-8.
static bool continues(uint8_t byte) {
    return (byte & 0xc0) == 0x80;
}

size_t checkpoint_preview(const uint8_t *body, size_t bytes) {
    assert(body);
    if (bytes <= CHECKPOINT_PREVIEW_BYTES)
        return bytes;
    size_t shown = CHECKPOINT_PREVIEW_BYTES;
    while (shown > 0 && continues(body[shown]))
        shown--;
    return shown;
}
