// Keeps where the parts of a frame lay in the frame that its source sent. The hub replaces ids, so bytes move, but a
// fault must be reported by its offset in the source's own frame. The text is BODY-AT,AT:ORIGINAL,…
#pragma once

#include <stdbool.h>
#include <stdint.h>

// From the offset `at` of the body on, bytes are as the source wrote them, at the offset `original` of the source's
// body.
struct frame_cut {
    uint32_t at, original;
};

enum { FRAME_CUTS_MAX = 4, FRAME_OFFSETS_BYTES_MAX = 10 + FRAME_CUTS_MAX * 22 };

struct frame_offsets {
    bool is_known;
    uint32_t body_at;   // offset of the body in the source's frame
    uint32_t cut_count; // number of cuts, which are in rising order
    struct frame_cut cuts[FRAME_CUTS_MAX];
};

// Writes the text, FRAME_OFFSETS_BYTES_MAX at most, and returns its end. May overwrite up to 8 bytes behind the text.
char *frame_offsets_write(char *out, const struct frame_offsets *offsets);
// Returns the offset in the source's frame of the byte at this offset of the body. The text may be malformed: anything
// but a number counts as 0.
uint64_t frame_offset_original(const uint8_t *text, uint32_t bytes, uint64_t offset);
