// The end of peers. A function that finds that a peer must end marks it (peer.h). The turn carries that out
// when an event, a piece of mail or a timer has been dealt with. A peer's requests and offers end here, and
// only here.
#pragma once

#include "router/engine/shard/shard.h"

void peer_teardown_carry_out_all(struct shard *shard);
// Carries out what has been marked, and what comes of that; and mail that this shard has posted to itself.
static inline void peer_teardown_carry_out(struct shard *shard) {
    if (shard->teardown || shard->own_mail)
        peer_teardown_carry_out_all(shard);
}
// Frees the closing peers that the kernel has let go.
void peer_teardown_reap(struct shard *shard);
