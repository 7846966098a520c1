// The memory of a unit of which the end hasn't come (peer.h): what has come lies in peer->partial.
#pragma once

#include "router/engine/shard/peer.h"

// Whether there is room for so many bytes of the unit.
static inline bool reassembly_has_room(const struct peer *peer, uint32_t bytes) {
    return peer->partial && peer->partial->capacity - peer->partial_at >= bytes;
}
// Room for `bytes` of the unit, better for more of it. False where there is none, and waiting for it is vain.
bool reassembly_make_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// Finds room likewise, at the cost of buffers at rest, and then of a peer that waits for memory and holds
// more than that. A peer that has begun a frame that isn't large must not end because others' frames fill the
// memory.
bool reassembly_find_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// Room for all that is still to come of it, or, where its length isn't known, for more of it. False where there is
// none now.
bool reassembly_make_room_for_rest(struct shard *shard, struct peer *peer);
// Whether there can ever be room for `bytes` of it.
bool reassembly_may_wait(const struct shard *shard, const struct peer *peer, uint32_t bytes);
// Gives up the memory of dead bytes behind the body so far.
void reassembly_close_gap(struct peer *peer);
// Cuts the unit off behind so many bytes of it, and wipes what stood there.
void reassembly_cut(struct peer *peer, uint32_t bytes);

// Notes, for a wire of lines, that the unit was refused: its rest is to be thrown away as it comes.
void reassembly_refused(struct peer *peer);
// Throws away what belongs to such a unit; returns how many of `count` bytes did.
uint32_t reassembly_skip(struct peer *peer, uint8_t *bytes, uint32_t count);
// Throws away the part of such a unit that lies in the peer's partial buffer. Returns how many bytes at the end of
// that buffer belong to the next unit.
uint32_t reassembly_skip_here(struct peer *peer);

// Returns whether the begin of a frame that lies in two arrivals should move, when `count` bytes have come:
// the begin is small, and the rest has come, or the next arrival may be the rest.
bool reassembly_should_lead(const struct peer *peer, uint32_t count);
// Moves it before the rest, which lies at `from` in room that has the begin's size before it; returns where the frame
// begins now.
uint32_t reassembly_lead(struct peer *peer, struct buffer *buffer, uint32_t from);
