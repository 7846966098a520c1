// A send that ends shows that its peer reads. A large send lasts, and the kernel takes more only when much of
// its own is gone. The kernel is therefore asked, often, and only for the peers that are behind. It shows
// reading in steps (limits.h). A pause alone doesn't tell a reader that has stopped from a slow one, but a
// step after a pause does.
#include "router/engine/send/slow_reader.h"

#include <assert.h>

enum {
    LOOK_MS = SLOW_READER_MS / 4,
    QUIET_LOOKS = QUIET_READER_MS / LOOK_MS,
    STEADY_LOOKS = STEADY_READER_MS / LOOK_MS, // fits peer.looks
};

static void look_later(struct shard *shard) {
    if (!timer_armed(&shard->slow_reader_timer))
        wheel_arm(&shard->wheel, &shard->slow_reader_timer, shard_now_ms(shard) + LOOK_MS);
}

bool slow_reader_ask(struct shard *shard, struct peer *peer) {
    uint32_t taken = io_ack_mark(shard->io, peer->connection.socket);
    bool news = !peer->probed || taken != peer->taken;
    if (!peer->probed)
        peer->sending_ms = shard_tick(shard);
    else if (news)
        peer_took(shard, peer);
    peer->probed = true;
    peer->taken = taken;
    return news;
}

// How long it has been looked at in vain counts from here.
void slow_reader_watch(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_CLOSING || !list_empty(&peer->standing))
        return;
    list_append(&shard->slow_readers, &peer->standing);
    slow_reader_ask(shard, peer);
    peer->looks = 0;
    look_later(shard);
}

static void look_at(struct shard *shard, struct peer *peer) {
    size_t waiting = connection_waiting(&peer->connection);
    bool over = waiting >= 2 * shard_limits(shard)->queue_bytes_max;
    assert(peer->state != PEER_CLOSING);
    if (!over && !peer_lingers(peer))
        return;
    list_append(&shard->slow_readers, &peer->standing);
    if (slow_reader_ask(shard, peer))
        return;
    if (++peer->looks >= (peer->steady ? STEADY_LOOKS : QUIET_LOOKS))
        peer_close(shard, peer, waiting ? COUNT_CLOSED_SLOW_READER : COUNTERS_COUNT);
}

void slow_reader_look(struct shard *shard) {
    struct list looked_at;
    list_init(&looked_at);
    for (struct list *node; (node = list_take(&shard->slow_readers));)
        list_append(&looked_at, node);
    for (struct list *node; (node = list_take(&looked_at));)
        look_at(shard, list_entry(node, struct peer, standing));
    if (!list_empty(&shard->slow_readers))
        look_later(shard);
}
