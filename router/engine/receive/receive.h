// The first step of a frame: bytes that arrived become frames.
//
// A frame that lies whole in a receive buffer is handed on in place. Of a frame in two arrivals, the smaller part moves
// into room in the other arrival's buffer. A larger frame, or one in more parts, moves once to memory of its own size.
// If more than one arrival is missing then, the kernel receives the rest straight into that memory.
#pragma once

#include "io/io.h"
#include "router/engine/shard/peer.h"

// Reads an IO_RECEIVED event of the peer, from `at` on in the buffer; 0: from the begin. Returns 0 when all is read.
// With shard.read_fairness.may_stop_between_units, reading stops between two units at until_ns and returns the
// offset, to be called with again.
uint32_t receive_arrival(struct shard *shard, struct peer *peer, const struct io_event *event, uint32_t at);
// Closes a peer for whose message there is no memory. The transport tells the peer first, if it can.
void receive_overload(struct shard *shard, struct peer *peer);
// Refuses the frame that is coming in, since it has taken too long, and silences the peer. `counter` counts this.
void receive_cut_off(struct shard *shard, struct peer *peer, enum counter counter);
// Arms the peer's next receive, if the peer is to be read.
void receive_go_on(struct shard *shard, struct peer *peer);
// Decides by an arrival whether the peer is rationed: received one arrival at a time, since buffers are short.
void receive_ration(struct shard *shard, struct peer *peer, const struct io_event *event);
// Does the same, and lets a rationed peer queue for its next receive.
void receive_queue(struct shard *shard, struct peer *peer, const struct io_event *event);
// Returns whether the peer queues. Meanwhile the time-outs of the peer's frame and of idleness don't run.
bool receive_is_queued(const struct peer *peer);
// Arms receives of peers that wait for a buffer or queue, as far as there are buffers.
void receive_resume(struct shard *shard);
// Handles the event of watching a peer that has half-closed.
void receive_watched(struct shard *shard, struct peer *peer, const struct io_event *event);
// Gives the peer another transport from the next unit on, also for bytes that have arrived already. Must be called from
// codec.take, between two units.
void receive_switch(struct shard *shard, struct peer *peer, const struct transport *transport);
