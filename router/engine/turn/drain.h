// The end of the hub. Each message is delivered, answered with an error, or counted. All shards are in the same phase:
// the last shard to finish a phase begins the next phase for all.
//
//   draining   no new connections; new requests are refused; pending requests get --drain-timeout, then end with
//              an error
//   closing    all connections are closed, until the kernel is done with their sockets
//   stopped    parcels at other shards come back; then each shard may close
#pragma once

#include "router/engine/shard/shard.h"

// Handles a signal to end. If another hub listens on the same addresses, or the service manager passed the sockets, the
// first signal ends accepting, and the hub drains a moment later. Otherwise, and at the next signal, the hub drains at
// once.
void drain_asked(struct shard *shard);
// Begins to drain the whole hub, once. Any shard may call this.
void drain_begin(struct shard *shard);
// Enters the hub's phase, as it was before this turn's mail was read. Called once a turn, before sends.
void drain_follow(struct shard *shard, enum hub_phase phase);
// Reports that this shard has finished its phase, if so. Called at the end of each turn.
void drain_report(struct shard *shard);
// Handles the drain timer: ends all pending requests.
void drain_timed_out(struct shard *shard);
