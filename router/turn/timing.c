#include "router/turn/timing.h"

#include <assert.h>

#include "router/transport/feed.h"

// A body that goes on arriving at 1 KiB a second or more may take as long as it likes.
static bool arrives(const struct shard *shard, const struct peer *peer) {
    assert(peer->partial_checked <= peer->partial_bytes);
    uint64_t window_ms = shard_limits(shard)->frame_timeout_ns / 1000000;
    uint64_t arrived = peer->partial_bytes - peer->partial_checked;
    bool body = peer->unit.sized || peer->transport->wire->opens_with_body;
    return body && arrived * 1000 >= window_ms * 1024;
}

static void frame_expired(struct shard *shard, struct peer *peer) {
    if (arrives(shard, peer))
        peer_watch(shard, peer);
    else if (peer_lacks_room(peer))
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    else
        feed_cut_off(shard, peer);
}

void timing_expired(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_CLOSING && !timer_armed(&peer->timer));
    if (peer_lingers(peer) || peer->state == PEER_SHUT)
        peer_close(shard, peer, COUNTERS_COUNT);
    else if (peer->state == PEER_OPEN && peer->partial)
        frame_expired(shard, peer);
    else if (peer_due_ms(shard, peer) <= shard_now_ms(shard))
        peer_close(shard, peer, COUNT_CLOSED_IDLE);
    else
        peer_rewatch(shard, peer);
}
