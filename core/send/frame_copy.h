// A frame that is saved for later, when the buffer in which it came is long needed for others.
#pragma once

#include "core/send/parcel.h"

// How many bytes of buffers keeping a frame takes.
uint32_t frame_copy_bytes(const struct frame *frame);
// Keeps a frame: a large body stays in the buffer in which it came; else it is copied with its envelope, but without what stood
// between them in a batch. `unit` is its unit from then on, and *saved has a reference of its own. False without memory: then
// nothing is saved.
bool frame_copy(struct buffer_pool *buffers, const struct frame *frame, struct unit *unit,
                struct frame *saved);
