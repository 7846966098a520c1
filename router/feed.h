// The first step of a frame's way: bytes that arrived become frames.
//
// Frames that lie whole in a receive buffer are handed on where they lie. One whose end hasn't come moves
// once to memory of its own size; if what is missing is more than a receive buffer holds, it is received
// straight into that.
#pragma once

#include "io/io.h"
#include "router/shard.h"

// An IO_RECEIVED event came for this peer.
void feed_event(struct shard *shard, struct peer *peer, const struct io_event *event);
// Peers whose receives found no buffer are armed again, if there are some now.
void feed_starved(struct shard *shard);
