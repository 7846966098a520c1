// Packs: small frames for one receiver, copied one behind the other to a buffer of the pack's own.
//
// A forwarded frame is written to the pack as the frame leaves: with its length line, or an envelope of another wire, and with
// one value replaced. The frame needs no parcel, and the pack doesn't hold the buffer in which the frame came. The pack itself
// is a dressed parcel. The pack lists its requests at the end of its buffer, so that a cancel can take a
// request out.
#pragma once

#include "core/send/parcel.h"

// What stands before the body in place of a length line, and behind the body.
struct pack_envelope {
    struct piece head, tail;
};

// An empty pack with a buffer of `buffers`, which must belong to the shard of `pool`. At least one frame must
// follow, or parcel_drop. NULL when memory or the budget is used up.
struct parcel *pack_create(struct parcel_pool *pool, struct buffer_pool *buffers);
// Whether nothing of a frame leaves but its body and a length line, and the body is so small that it is copied.
bool pack_takes(const struct frame *frame);
// Adds a frame that pack_takes, whose `value`, a stretch of the body, is replaced by `text`. A request has its
// hub id; else 0. `envelope` is NULL for the framed wire. False: there is no room for it.
bool pack_add(struct parcel *pack, const struct frame *frame, struct span value, struct piece text,
              uint64_t hub_id, const struct pack_envelope *envelope);
// Whether the request lies in the pack.
bool pack_has(const struct parcel *pack, uint64_t hub_id);
// Takes a request that lies in the pack out. Another frame must stay. Returns its bytes.
size_t pack_remove(struct parcel *pack, uint64_t hub_id);
