// Finds readers that have stopped.
//
// A send that ends shows that its peer reads. A large send lasts, and the kernel takes more only when much of its
// buffer is free again. The kernel is therefore asked how much the peer has acknowledged, often, and only for peers
// that are behind. The kernel shows reading in steps (limits.h). A pause alone doesn't tell a reader that has stopped
// from a slow reader, but a step after a pause does.
#include "router/engine/send/slow_reader.h"

#include <assert.h>

enum {
    LATE_TICK_MS = 64,
    LOOK_MS = SLOW_READER_MS / 4,
    QUIET_LOOKS = QUIET_READER_MS / LOOK_MS,
    STEADY_LOOKS = STEADY_READER_MS / LOOK_MS,
};
static_assert(STEADY_LOOKS < 1 << 7, "fits peer.looks");

uint64_t slow_reader_bytes_max(const struct shard *shard) {
    uint64_t max = 4 * shard_limits(shard)->queue_bytes_max;
    assert(PEER_BYTES_LEAST > CONFINED_BYTES_MAX);
    return max > PEER_BYTES_LEAST ? max : PEER_BYTES_LEAST;
}

// Returns whether the kernel has taken a whole part of a send within PACE_MS, or there is no send under way. The
// more waits, the shorter that time is: a kernel takes some megabytes for a peer that reads nothing.
static bool keeps_pace(const struct shard *shard, const struct peer *peer, uint64_t waiting, uint64_t max) {
    const struct send_op *send_op = peer->connection.send_op;
    return !send_op || shard_since(shard, send_op->since_ms) * waiting < PACE_MS * max;
}

// Returns the time in units of LATE_TICK_MS, from 1 on, as peer.backlog_since has it. The count wraps after twelve
// days.
static uint32_t late_tick(const struct shard *shard) {
    return 1 + (uint32_t)(shard_now_ms(shard) / LATE_TICK_MS % ((1u << 24) - 1));
}

// Returns whether much has waited for the peer for LATE_MS.
static bool is_late(const struct shard *shard, struct peer *peer) {
    uint32_t now = late_tick(shard);
    if (!peer->backlog_since) {
        peer->backlog_since = now & ((1u << 24) - 1);
        peer->burst_bytes = 0;
    }
    return now < peer->backlog_since || (now - (uint32_t)peer->backlog_since) * LATE_TICK_MS >= LATE_MS;
}

// Returns how much may wait in a burst: twice the bound, and four bytes more for each byte that the kernel has taken
// since much began to wait. A kernel takes few megabytes for a peer that reads nothing, so that such a peer gets little
// more than twice.
static uint64_t burst_max(const struct peer *peer, uint64_t max) {
    uint64_t earned = 2 * max + UINT64_C(4) * peer->burst_bytes;
    return earned < PEER_BURSTS * max ? earned : PEER_BURSTS * max;
}

// Returns whether the peer must be closed, since too much waits for it. A peer that wasn't behind a moment ago may have
// more for a moment, since a hundred answers may become ready at once. A peer that reads a little for ever may not.
bool slow_reader_is_over(struct shard *shard, struct peer *peer) {
    uint64_t waiting = connection_waiting(&peer->connection), max = slow_reader_bytes_max(shard);
    if (__builtin_expect(waiting < max / 4, true)) {
        peer->backlog_since = 0;
        return false;
    }
    bool late = is_late(shard, peer);
    return waiting >= max &&
           (late || waiting >= burst_max(peer, max) || !keeps_pace(shard, peer, waiting, max));
}

static void look_later(struct shard *shard) {
    if (!timer_armed(&shard->slow_reader_timer))
        wheel_arm(&shard->wheel, &shard->slow_reader_timer, shard_now_ms(shard) + LOOK_MS);
}

bool slow_reader_poll(struct shard *shard, struct peer *peer) {
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

// Begins to watch a reader, and to count the looks that found no progress.
void slow_reader_watch(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_CLOSING || !list_empty(&peer->by_lifecycle))
        return;
    list_append(&shard->slow_readers, &peer->by_lifecycle);
    slow_reader_poll(shard, peer);
    peer->looks = 0;
    look_later(shard);
}

static void look_at(struct shard *shard, struct peer *peer) {
    size_t waiting = connection_waiting(&peer->connection);
    bool over = waiting >= 2 * shard_limits(shard)->queue_bytes_max;
    assert(peer->state != PEER_CLOSING);
    if (!over && !peer_lingers(peer))
        return;
    if (slow_reader_is_over(shard, peer)) {
        peer_close(shard, peer, COUNT_CLOSED_SLOW_READER);
        return;
    }
    list_append(&shard->slow_readers, &peer->by_lifecycle);
    if (slow_reader_poll(shard, peer))
        return;
    if (++peer->looks >= (peer->steady ? STEADY_LOOKS : QUIET_LOOKS))
        peer_close(shard, peer, waiting ? (int)COUNT_CLOSED_SLOW_READER : COUNTER_NONE);
}

void slow_reader_look(struct shard *shard) {
    struct list looked_at;
    list_init(&looked_at);
    for (struct list *node; (node = list_take(&shard->slow_readers));)
        list_append(&looked_at, node);
    for (struct list *node; (node = list_take(&looked_at));)
        look_at(shard, list_entry(node, struct peer, by_lifecycle));
    if (!list_empty(&shard->slow_readers))
        look_later(shard);
}
