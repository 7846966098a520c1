// The memory of a unit that has arrived in part: peer->partial holds the bytes so far (peer.h).
#pragma once

#include "router/engine/shard/peer.h"

// Returns whether the buffer has room for so many bytes of the unit.
static inline bool reassembly_has_room(const struct peer *peer, uint32_t bytes) {
    return peer->partial && peer->partial->capacity - peer->partial_at >= bytes;
}
// Makes room for `bytes` of the unit, or for more. Returns false if there is no memory now.
bool reassembly_make_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// Makes room as reassembly_make_room, and frees unused buffers for that, and then a peer that waits for memory and
// holds more. A peer with a small frame must not end because other peers' large frames fill the memory.
bool reassembly_find_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// Makes room for the rest of the unit, or for more of a unit whose length isn't known. Returns false if there is no
// memory now.
bool reassembly_make_room_for_rest(struct shard *shard, struct peer *peer);
// Returns whether there can ever be room for `bytes` of the unit.
bool reassembly_may_wait(const struct shard *shard, const struct peer *peer, uint32_t bytes);
// Removes the unit's gap (unit_gap): moves the bytes behind the gap forward.
void reassembly_close_gap(struct peer *peer);
// Shortens the unit to so many bytes, and wipes the others.
void reassembly_cut(struct peer *peer, uint32_t bytes);

// Notes, for a wire of lines, that the unit was refused: its rest is discarded as it comes.
void reassembly_refused(struct peer *peer);
// Discards the bytes of a refused unit. Returns how many of `count` bytes were discarded.
uint32_t reassembly_skip(struct peer *peer, uint8_t *bytes, uint32_t count);
// Discards the part of a refused unit that is in peer->partial. Returns how many bytes at the end of that buffer belong
// to the next unit.
uint32_t reassembly_skip_here(struct peer *peer);

// Returns whether the begin of a frame should move to the arrival with its rest, when `count` bytes have come: the
// begin is small, and the rest has come or may be the next arrival.
bool reassembly_should_prepend(const struct peer *peer, uint32_t count);
// Moves the begin of a frame to the bytes before `from`, where the rest lies. There must be room before `from`. Returns
// where the frame begins now.
uint32_t reassembly_prepend(struct peer *peer, struct buffer *buffer, uint32_t from);
