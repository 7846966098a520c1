// Decides whose arrivals are read in a turn, and how many. An arrival is read at once, as long as the turn
// has time (struct turn_bounds) and its sender hasn't taken more than its share before. Else it waits.
// Senders that wait have turns: deficit round robin (Shreedhar and Varghese, 1996) in the time that reading
// takes, first those that have had nothing yet. A peer whose messages are much work, whatever makes them so,
// holds up itself. A peer that waits is read no further by the kernel. Messages to many are taken in no
// faster than they go out.
//
// Without memory to note a peer that waits, its arrivals are read at once.
#pragma once

#include "router/engine/shard/peer.h"

// A turn begins.
void read_fairness_begin(struct shard *shard);
// Something else was done since.
static inline void read_fairness_pass(struct shard *shard) {
    shard->share.stale = true;
}
// An IO_RECEIVED event came for this peer.
void read_fairness_take(struct shard *shard, struct peer *peer, const struct io_event *event);
// Goes on with one of those who wait, as long as the turn has time; false when there is nothing more to be done in it.
bool read_fairness_go_on(struct shard *shard);
// Whether anybody could be gone on with at once.
bool read_fairness_wait(const struct shard *shard);
// Whether something waits here that came from this peer: how long it takes isn't judged meanwhile, and that time isn't
// counted when it has been taken in.
bool read_fairness_hold(const struct peer *peer);
// Reads all that waits here of this peer, at once.
void read_fairness_read(struct shard *shard, struct peer *peer);
// Lets a peer be read again. Arrivals of the peer that wait here go first.
void read_fairness_resume(struct shard *shard, struct peer *peer);
// Work was done for this connection, begun at `from_ns` by io_clock; nothing, if it isn't here. Returns the clock.
uint64_t read_fairness_charge(struct shard *shard, uint64_t connection, uint64_t from_ns);
// The peer is closing, and the kernel was told: what waits ends nowhere.
void read_fairness_forget(struct shard *shard, struct peer *peer);
