// A frame whose sender says itself whose it is (Patchbay-User): where users are on, the hub alone says that.
#pragma once

#include "core/send/parcel.h"

// Makes a copy without those header fields: `unit` and `out` become those of the copy. Returns the copy's
// buffer, which is the caller's to drop; NULL without memory.
struct buffer *user_header_strip(struct buffer_pool *pool, const struct frame *frame, struct unit *unit,
                                 struct frame *out);
