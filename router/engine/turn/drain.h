// How the hub ends without losing anything in silence. All shards go through the same phases; the last one to
// finish a phase begins the next one for all.
//
//   draining   no new connections; new requests are refused; pending ones get their time, then end with an
//              error
//   closing    all connections are closed, and the kernel lets go of them
//   stopped    parcels that were lent to other shards come home; then each shard may close
#pragma once

#include "router/engine/shard/shard.h"

// A signal asks the hub to end. With shared addresses it first steps aside for the one that takes over; asked
// again, it doesn't wait any more.
void drain_asked(struct shard *shard);
// Begins to drain the whole hub, once; on any shard.
void drain_begin(struct shard *shard);
// Once a turn, before anything is sent: takes up a phase that the hub had entered before this turn's mail was read.
void drain_follow(struct shard *shard, enum hub_phase phase);
// Once a turn, at its end: reports when this shard has finished the phase.
void drain_report(struct shard *shard);
// The drain timer went off: whatever is still pending ends.
void drain_timed_out(struct shard *shard);
