// A notification that was asked for at other hubs first, and of which it is known now whether anybody is there.
#pragma once

#include "router/engine/shard/shard.h"

// MAIL_SOUGHT, which is taken over. Where nobody is there it goes on by its method, as if it came now, if its source is there still.
void fallback_route_take(struct shard *shard, struct mail *mail);
// The time of one is over.
void fallback_route_expired(struct shard *shard, struct timer *timer);
// A peer has said all that it says: what waits behind one that is sought, if anything does, waits no more.
void fallback_route_hurry(struct shard *shard, struct peer *peer);
// Those of which this shard's link has said so in this turn. Inline, as most turns have none.
void fallback_route_settled(struct shard *shard);
static inline void fallback_route_follow(struct shard *shard) {
    if (__builtin_expect(shard->sought.settled != NULL, false))
        fallback_route_settled(shard);
}
