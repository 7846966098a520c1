// The middle of a frame's way: what is it, and where does it go? lookup tells the first, rules the second.
#pragma once

#include "core/send/parcel.h"
#include "router/shard/peer.h"

// Routes a whole frame that came from this peer. References that are needed longer are taken.
void route_frame(struct shard *shard, struct peer *peer, const struct frame *frame);
