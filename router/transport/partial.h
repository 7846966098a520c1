// The memory of a unit of which the end hasn't come (peer.h): what has come lies in peer->partial.
#pragma once

#include "router/shard/peer.h"

// Whether there is room for so many bytes of the unit.
static inline bool partial_has_room(const struct peer *peer, uint32_t bytes) {
    return peer->partial && peer->partial->capacity - peer->partial_at >= bytes;
}
// Room for `bytes` of the unit, better for more of it. False where there is none, and waiting for it is vain.
bool partial_make_room(struct shard *shard, struct peer *peer, uint32_t bytes);
// Room for all that is still to come of it, or, where its length isn't known, for more of it. False where there is
// none now.
bool partial_make_room_for_rest(struct shard *shard, struct peer *peer);
// Whether there can ever be room for `bytes` of it.
bool partial_may_wait(const struct shard *shard, const struct peer *peer, uint32_t bytes);
// Lets it go.
void partial_forget(struct peer *peer);
