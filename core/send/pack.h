// Packs: small frames for one receiver, copied one behind the other to the pack's own buffer.
//
// A forwarded frame is written to the pack as the frame leaves: with a length line and the hub's own line, or with an
// envelope of another wire, and with one value replaced. The frame needs no parcel, and the pack doesn't hold the
// buffer in which the frame came. The pack itself is an encoded parcel. The pack lists its requests at the end of its
// buffer, so that a cancel can remove a request.
#pragma once

#include "core/send/parcel.h"

// The bytes before a body, in place of a length line, and the bytes behind the body.
struct pack_envelope {
    struct piece head, tail;
};

// Makes an empty pack with a buffer of `buffers`, which must belong to the shard of `pool`. The caller must then add a
// frame or drop the pack (parcel_drop). Returns NULL without memory or room in the budget.
struct parcel *pack_create(struct parcel_pool *pool, struct buffer_pool *buffers);
// Returns whether the frame came with no header field but its length, and has a body of at most COPY_BYTES_MAX.
bool pack_takes(const struct frame *frame);
// Adds a frame for which pack_takes is true. `text` replaces `value`, a stretch of the body. `hub_id` is a request's
// hub id, else 0. `envelope` is NULL for the framed wire; an envelope must have what the hub adds. Returns false if the
// pack has no room for the frame.
bool pack_add(struct parcel *pack, const struct frame *frame, struct span value, struct piece text,
              uint64_t hub_id, const struct pack_envelope *envelope);
// Returns whether the pack has the request.
bool pack_has(const struct parcel *pack, uint64_t hub_id);
// Removes a request from the pack that has it. The pack must have another frame. Returns the number of removed bytes.
size_t pack_remove(struct parcel *pack, uint64_t hub_id);
