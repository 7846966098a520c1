// The memory of a unit of which the end hasn't come (peer.h): what has come lies in peer->partial.
#pragma once

#include "router/engine/shard/peer.h"

// Whether there is room for so many bytes of the unit.
static inline bool reassembly_has_room(const struct peer *peer, uint32_t bytes) {
    return peer->partial && peer->partial->capacity - peer->partial_at >= bytes;
}
// Room for `bytes` of the unit, better for more of it. False where there is none, and waiting for it is vain.
bool reassembly_make_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// The same, at the cost of what lies at rest, and then of who waits for memory and holds more than that: who has begun
// a frame that isn't large must not end because others' fill the memory.
bool reassembly_find_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// Room for all that is still to come of it, or, where its length isn't known, for more of it. False where there is
// none now.
bool reassembly_make_room_for_rest(struct shard *shard, struct peer *peer);
// Whether there can ever be room for `bytes` of it.
bool reassembly_may_wait(const struct shard *shard, const struct peer *peer, uint32_t bytes);
// What is dead behind its body so far takes no memory.
void reassembly_close_gap(struct peer *peer);
// Lets it go.
void reassembly_forget(struct peer *peer);

// Of a wire of lines: the unit was refused, and what is left of it is to be thrown away as it comes.
void reassembly_refused(struct peer *peer);
// Throws away what belongs to such a unit; returns how many of `count` bytes did.
uint32_t reassembly_skip(struct peer *peer, uint8_t *bytes, uint32_t count);
// The same with what has been taken in of it; returns how many bytes at the end of that are the next one's.
uint32_t reassembly_skip_here(struct peer *peer);

// Whether of a frame that lies in two arrivals the begin is what should move, when `count` bytes have come: it is small,
// and the rest has come, or all that comes may be the rest.
bool reassembly_should_lead(const struct peer *peer, uint32_t count);
// Moves it before the rest, which lies at `from` in room that has the begin's size before it; returns where the frame
// begins now.
uint32_t reassembly_lead(struct peer *peer, struct buffer *buffer, uint32_t from);
