// The first step of a frame's way: bytes that arrived become frames.
//
// Frames that lie whole in a receive buffer are handed on where they lie. Of one that two arrivals share, the
// smaller part moves, into room that the other one's buffer has for it. What is larger, or comes in more
// parts, moves once to memory of its own size; if what is missing is more than an arrival brings, it is
// received straight into that.
#pragma once

#include "io/io.h"
#include "router/shard/peer.h"

// An IO_RECEIVED event came for this peer.
void feed_event(struct shard *shard, struct peer *peer, const struct io_event *event);
// The frame that is coming in has taken too long: its sender is told, and that is the last thing it is told.
void feed_cut_off(struct shard *shard, struct peer *peer);
// Peers whose receives found no buffer are armed again, if there are some now.
void feed_starved(struct shard *shard);
// Something came of watching whether a peer goes altogether after its end.
void feed_watched(struct shard *shard, struct peer *peer, const struct io_event *event);
// From the next unit on the peer speaks another transport; what it has sent already is read by it. To be
// called from transport.take, between two units.
void feed_switch(struct peer *peer, const struct transport *transport);
