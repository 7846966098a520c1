// The end of peers. A function that finds that a peer must end marks the peer (peer.h). The turn carries the end out
// after each event, piece of mail or timer. A peer's requests and offers end here alone.
#pragma once

#include "router/engine/shard/shard.h"

// Carries out all marks, also those that come of it. Then reads the mail that this shard has posted to itself.
void peer_teardown_carry_out_all(struct shard *shard);
// Does the same, if there is a mark or such mail.
static inline void peer_teardown_carry_out(struct shard *shard) {
    if (shard->teardown || shard->loopback_mail)
        peer_teardown_carry_out_all(shard);
}
// Frees the peers in CLOSING with whose sockets the kernel is done.
void peer_teardown_reap(struct shard *shard);
