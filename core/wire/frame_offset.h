// Where the parts of a frame lay in the frame that its source sent. Ids are exchanged on the way, so that bytes move, and
// a fault is told by its offset in the source's own frame. The text is BODY-AT,AT:ORIGINAL,…
#pragma once

#include <stdbool.h>
#include <stdint.h>

// From this offset of the body on, bytes are as the source wrote them, at another offset of the source's body.
struct frame_cut {
    uint32_t at, original;
};

enum { FRAME_CUTS_MAX = 4, FRAME_OFFSETS_BYTES_MAX = 10 + FRAME_CUTS_MAX * 22 };

struct frame_offsets {
    bool is_known;
    uint32_t body_at;   // of the body in the source's frame
    uint32_t cut_count; // in rising order
    struct frame_cut cuts[FRAME_CUTS_MAX];
};

// Writes the text, of FRAME_OFFSETS_BYTES_MAX at most; returns its end. Up to 8 bytes behind that are overwritten.
char *frame_offsets_write(char *out, const struct frame_offsets *offsets);
// Returns the offset in the source's frame of what lies at this offset of the body. Any text may come: what is no number
// counts as 0.
uint64_t frame_offset_original(const uint8_t *text, uint32_t bytes, uint64_t offset);
