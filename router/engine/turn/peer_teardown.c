#include "router/engine/turn/peer_teardown.h"

#include <assert.h>

#include "router/engine/request/completion.h"
#include "router/engine/send/send.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/post.h"
#include "router/engine/turn/read_fairness.h"
#include "router/registry/registry.h"
#include "router/registry/subscribe.h"
#include "router/rights/authn.h"

static void drop_queue(struct shard *shard, struct peer *peer) {
    for (struct parcel *parcel; (parcel = outbox_take(&peer->connection.outbox));) {
        drop_several(shard, COUNT_DROP_TARGET_GONE, peer->connection_id, parcel->bytes, parcel->frames);
        send_release(shard, parcel);
    }
    assert(peer->connection.outbox.bytes == 0 && peer->connection.outbox.urgent_bytes == 0);
}

// Lets a peer leave: abandons its requests, and removes its agents and subscriptions.
static void peer_teardown_leave(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_OPEN);
    feature_peer_ended(shard, peer);
    completion_abandon_in_parts(shard, peer);
    subscribe_leave(shard, peer);
    registry_leave(shard, peer);
    assert(list_empty(&peer->request_index.requests) && !peer->leave_order && !peer->admission.waiting);
}

static void tell_left(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_CLOSING);
    if (completion_all_abandoned(peer))
        feature_peer_left(shard, peer);
}

static void close_peer(struct shard *shard, struct peer *peer) {
    assert(!peer->connection.ending);
    wheel_disarm(&peer->timer);
    if (peer->cold)
        wheel_disarm(&peer->cold->timer);
    if (peer->transport->ops.leave)
        peer->transport->ops.leave(shard, peer);
    list_remove(&peer->to_send);
    list_remove(&peer->by_receive_wait);
    list_remove(&peer->by_lifecycle);
    authn_leave(shard, peer);
    drop_queue(shard, peer);
    connection_end(&peer->connection, shard->io);
    read_fairness_drop_peer(shard, peer);
    list_append(&shard->closing, &peer->by_lifecycle);
    peer_teardown_leave(shard, peer);
    tell_left(shard, peer);
}

static void end_peer(struct shard *shard, struct peer *peer) {
    peer_timer_restart(shard, peer);
    subscribe_leave(shard, peer);
    registry_leave(shard, peer);
    assert(!peer->leave_order && peer->subscriber.count == 0);
    completion_end_endless(shard, peer);
    peer_settle(shard, peer);
}

static void let_linger(struct shard *shard, struct peer *peer) {
    peer_teardown_leave(shard, peer);
    if (identity_of(peer) && identity_of(peer)->pending_refusal) // the peer wasn't read during the delay
        read_fairness_resume_peer(shard, peer);
    peer_settle(shard, peer);
    if (peer_lingers(peer))
        slow_reader_watch(shard, peer);
}

static void carry_out(struct shard *shard, struct peer *peer) {
    if (peer->transport->ops.ended && peer->transport->ops.ended(shard, peer))
        return;
    switch (peer->state) {
    case PEER_ENDED:
        end_peer(shard, peer);
        break;
    case PEER_LINGERING:
    case PEER_SILENCED:
        let_linger(shard, peer);
        break;
    case PEER_SHUT: // all was sent before the ending was carried out
        peer_teardown_leave(shard, peer);
        break;
    case PEER_CLOSING:
        close_peer(shard, peer);
        break;
    case PEER_OPEN:
    case PEER_STATES_COUNT:
        assert(false);
    }
}

static void carry_out_marked(struct shard *shard) {
    while (shard->teardown) {
        struct peer *peer = shard->teardown;
        shard->teardown = peer->ending == peer ? NULL : peer->ending;
        if (!shard->teardown)
            shard->teardown_last = &shard->teardown;
        peer->ending = NULL;
        assert(shard->peers.slots[connection_slot(peer->connection_id)] == peer);
        carry_out(shard, peer);
    }
}

static void read_own_mail(struct shard *shard) {
    for (struct mail *mail; (mail = shard->loopback_mail);) {
        shard->loopback_mail = mail->next;
        if (!shard->loopback_mail)
            shard->loopback_mail_last = &shard->loopback_mail;
        feature_take_mail(shard, mail);
    }
}

void peer_teardown_carry_out_all(struct shard *shard) {
    while (shard->teardown || shard->loopback_mail) {
        carry_out_marked(shard);
        read_own_mail(shard);
    }
}

void peer_teardown_reap(struct shard *shard) {
    for (struct list *node = shard->closing.next, *next; node != &shard->closing; node = next) {
        next = node->next;
        struct peer *peer = list_entry(node, struct peer, by_lifecycle);
        assert(peer->state == PEER_CLOSING && peer->connection.ending);
        if (!connection_at_rest(&peer->connection) || !completion_all_abandoned(peer))
            continue;
        tell_left(shard, peer);
        peer_free(shard, peer);
    }
}
