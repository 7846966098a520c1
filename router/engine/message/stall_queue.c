#include "router/engine/message/stall_queue.h"

#include <assert.h>

#include "core/send/frame_copy.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"

// Keeps the credential: over HTTP each request shows its own.
static void keep_credential(struct stalled_unit *stalled, const struct peer *peer) {
    const struct identity *identity = peer->transport->answers_only ? identity_of(peer) : NULL;
    if (!identity)
        return;
    stalled->user = identity->user;
    stalled->kind = identity->kind;
    stalled->digest = identity->digest;
}

// Members of a batch stay where that lies, as none comes behind it meanwhile: copied, each would take its head along.
static bool keep_frame(struct shard *shard, struct stalled_unit *stalled, const struct frame *frame) {
    if (!stalled->is_member)
        return frame_copy(&shard->buffers, frame, &stalled->unit, &stalled->frame);
    stalled->unit = *frame->unit;
    stalled->frame = *frame;
    stalled->frame.unit = &stalled->unit;
    buffer_hold(frame->buffer);
    return true;
}

void stall_queue_keep(struct shard *shard, struct peer *peer, const struct frame *frame,
                      struct exchange *exchange, bool is_member) {
    struct stalled_unit *stalled = quota_take_zeroed(&shard->quota, 1, sizeof *stalled);
    assert(peer->stalled && peer->annex);
    if (stalled)
        stalled->is_member = is_member;
    if (!stalled || !keep_frame(shard, stalled, frame)) {
        quota_give(&shard->quota, stalled);
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    stalled->exchange = exchange;
    keep_credential(stalled, peer);
    if (exchange)
        exchange_expect(exchange);
    list_init(&stalled->link);
    list_append(&peer->annex->stalled, &stalled->link);
}

struct stalled_unit *stall_queue_take(struct peer *peer) {
    assert(peer->annex);
    struct list *node = list_take(&peer->annex->stalled);
    return node ? list_entry(node, struct stalled_unit, link) : NULL;
}

bool stall_queue_has(const struct peer *peer, const struct exchange *exchange) {
    const struct list *all = peer->annex ? &peer->annex->stalled : NULL;
    assert(exchange);
    for (const struct list *node = all ? all->next : NULL; node != all; node = node->next)
        if (list_entry(node, struct stalled_unit, link)->exchange == exchange)
            return true;
    return false;
}

void stall_queue_end(struct shard *shard, struct stalled_unit *stalled) {
    assert(list_empty(&stalled->link));
    if (stalled->exchange)
        exchange_miss(shard, stalled->exchange);
    buffer_drop(stalled->frame.buffer);
    digest_wipe(&stalled->digest, sizeof stalled->digest);
    quota_give(&shard->quota, stalled);
}

void stall_queue_leave(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_OPEN);
    for (struct stalled_unit *stalled; peer->annex && (stalled = stall_queue_take(peer));) {
        drop_one(shard, COUNT_DROP_NO_ROUTE, peer->name, stalled->frame.body.bytes);
        stall_queue_end(shard, stalled);
    }
    peer->stalled = false; // the seat of a child is its next one's
    if (peer->annex)
        peer->annex->exits = false;
}
