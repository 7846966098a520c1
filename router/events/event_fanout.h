// An event, or a run of them, on one shard: it is offered to the subscribers that live there.
#pragma once

#include "router/engine/shard/peer.h"
#include "router/events/publication.h"

// Queues the copy's event for each subscriber of its name but the source, once however many patterns match,
// and counts them in the copy; the parcel is let go. A subscriber that can't take it misses it (events.h).
// All receivers share the body: one copy of it is made for all that get one line a body, if it has line
// breaks.
void event_fanout_to_all(struct shard *shard, struct copy *copy);
