// The first step of a frame's way: bytes that arrived become frames.
//
// Frames that lie whole in a receive buffer are handed on where they lie. Where two arrivals share a frame,
// the smaller part moves, into room that the other one's buffer has for it. A frame that is larger, or comes
// in more parts, moves once to memory of its own size. If it lacks more than an arrival brings, the rest is
// received straight into that memory.
#pragma once

#include "io/io.h"
#include "router/engine/shard/peer.h"

// An IO_RECEIVED event came for this peer: reads it from `at` on in the buffer; 0: from its begin. Where shard.share.cuts, it may stop between two units, when
// share.until_ns has come: then it returns where, and the event is to be handed in again with that. Else 0.
uint32_t receive_arrival(struct shard *shard, struct peer *peer, const struct io_event *event, uint32_t at);
// There is no memory for what the peer sends: it is closed, after it is told where its transport can.
void receive_overload(struct shard *shard, struct peer *peer);
// The frame that is coming in has taken too long, which counts as this: its sender is told, and that is the last thing
// it is told.
void receive_cut_off(struct shard *shard, struct peer *peer, enum counter counter);
// Receives what should be received now.
void receive_go_on(struct shard *shard, struct peer *peer);
// Peers whose receives found no buffer are armed again, if there are some now.
void receive_starved(struct shard *shard);
// Something came of watching whether a peer goes altogether after its end.
void receive_watched(struct shard *shard, struct peer *peer, const struct io_event *event);
// From the next unit on the peer speaks another transport; what it has sent already is read by it. To be
// called from codec.take, between two units.
void receive_switch(struct shard *shard, struct peer *peer, const struct transport *transport);
