// Decides which peers' arrivals are read in a turn, and how many. An arrival is read at once, as long as the turn has
// time (struct turn_bounds) and its sender hasn't used more than its share. Otherwise the arrival waits. Peers that
// wait are served by deficit round robin (Shreedhar and Varghese, 1996), measured in the time that reading takes; peers
// that were not served yet come first. So a peer whose messages are much work delays itself alone. The kernel receives
// no more from a peer that waits. Messages to many are read no faster than they are sent.
//
// If there is no memory to note a peer that waits, its arrivals are read at once.
#pragma once

#include "router/engine/shard/peer.h"

// Begins a turn.
void read_fairness_begin(struct shard *shard);
// Notes that other work was done since the last arrival was read.
static inline void read_fairness_note_other_work(struct shard *shard) {
    shard->read_fairness.is_clock_stale = true;
}
// Handles an IO_RECEIVED event of the peer: reads the arrival, or lets it wait.
void read_fairness_handle_arrival(struct shard *shard, struct peer *peer, const struct io_event *event);
// Reads arrivals of one peer that waits. Returns false when the turn's time is over or no peer waits.
bool read_fairness_serve_next(struct shard *shard);
// Gives the kernel a quarter of the buffers while many arrivals wait, which would else fill the memory.
void read_fairness_update_buffers(struct shard *shard);
// Returns whether a peer waits that could be served at once.
bool read_fairness_is_ready(const struct shard *shard);
// Returns whether arrivals of the peer wait. Meanwhile the time-out of the peer's frame doesn't run.
bool read_fairness_has_queued(const struct peer *peer);
// Reads all arrivals of the peer that wait, at once.
void read_fairness_read_all(struct shard *shard, struct peer *peer);
// Lets a peer be read again, first its arrivals that wait.
void read_fairness_resume_peer(struct shard *shard, struct peer *peer);
// Charges the peer of a connection for work that began at `from_ns` by io_clock. A connection of another shard isn't
// charged. Returns the clock.
uint64_t read_fairness_charge(struct shard *shard, uint64_t connection, uint64_t from_ns);
// Drops the arrivals of a peer in CLOSING.
void read_fairness_drop_peer(struct shard *shard, struct peer *peer);
