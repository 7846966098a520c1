#include "router/engine/turn/peer_timeouts.h"

#include <assert.h>

#include "router/engine/receive/receive.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/turn/read_fairness.h"
#include "router/rights/authn.h"

// Returns whether a body goes on arriving at 1 KiB a second or more. Such a body has no limit of time.
static bool arrives(const struct shard *shard, const struct peer *peer) {
    assert(peer->partial_checked <= peer->partial_bytes);
    uint64_t window_ms = shard_limits(shard)->frame_timeout_ns / 1000000;
    uint64_t arrived = peer->partial_bytes - peer->partial_checked;
    bool body = peer->unit.length_known || peer->unit.body_at || peer->transport->codec.wire->opens_with_body;
    return body && arrived * 1000 >= window_ms * 1024;
}

// Returns whether the peer waits to be told that it may go on.
static bool is_awaiting_continue(const struct peer *peer) {
    return peer->cold && peer->cold->is_awaiting_continue;
}

static void cut_off(struct shard *shard, struct peer *peer, enum counter counter) {
    assert(peer->state == PEER_OPEN && peer->partial);
    if (peer_lacks_room(peer))
        receive_overload(shard, peer);
    else
        receive_cut_off(shard, peer, counter);
}

static void frame_expired(struct shard *shard, struct peer *peer) {
    if (arrives(shard, peer) || is_awaiting_continue(peer))
        peer_timer_restart(shard, peer);
    else
        cut_off(shard, peer, COUNT_CLOSED_SLOW_SENDER);
}

// Returns whether the time of a peer is over that has nothing unfinished. While a send lasts, only the kernel knows
// what the peer has taken, so the kernel is asked.
static bool is_idle(struct shard *shard, struct peer *peer) {
    if (peer->connection.send_op)
        slow_reader_poll(shard, peer);
    return peer_due_ms(shard, peer) <= shard_now_ms(shard);
}

void peer_timeouts_expired(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_CLOSING && !timer_armed(&peer->timer));
    if (peer_lingers(peer) || peer->state == PEER_SHUT)
        peer_close(shard, peer, COUNTER_NONE);
    else if (read_fairness_has_queued(peer) || receive_is_queued(peer))
        return; // the timer is armed again when the arrivals are read, or the peer is resumed
    else if (peer->state == PEER_OPEN && peer->partial)
        frame_expired(shard, peer);
    else if (is_idle(shard, peer))
        peer_close(shard, peer,
                   connection_established(&peer->connection) ? COUNT_CLOSED_IDLE : COUNT_CLOSED_HANDSHAKE);
    else
        peer_timer_update(shard, peer);
}

// Returns whether a peer without a credential is told that its frame is late. A transport with a goodbye (a WebSocket)
// says the same in either case.
static bool is_told_of_frame(const struct peer *peer) {
    return peer->partial && !peer->transport->ops.goodbye;
}

// Reads the peer's arrivals that wait before the peer is refused for its time: the credential may be among them. If the
// hub has no memory or time to read them, looks again later. Returns false if nothing has arrived.
static bool authenticates_first(struct shard *shard, struct identity *identity) {
    enum { LOOK_AGAIN_MS = 100 };
    struct peer *peer = identity->peer;
    if (identity->pending_refusal || peer->state != PEER_OPEN)
        return false;
    if (read_fairness_has_queued(peer))
        read_fairness_read_all(shard, peer);
    if (peer->state == PEER_CLOSING || identity->was_known || identity->has_peer_credential ||
        identity->pending_refusal)
        return true;
    if (peer->state != PEER_OPEN || list_empty(&peer->by_receive_wait))
        return false;
    wheel_arm(&shard->wheel, &identity->timer, shard_now_ms(shard) + LOOK_AGAIN_MS);
    return true;
}

void peer_timeouts_identity_expired(struct shard *shard, struct identity *identity) {
    struct peer *peer = identity->peer;
    bool was_unread = identity_unread(peer);
    assert(!timer_armed(&identity->timer));
    if (authenticates_first(shard, identity) || !authn_expired(shard, identity)) {
        if (was_unread) // unread bytes would reset the connection, and lose the answer
            read_fairness_resume_peer(shard, peer);
        return;
    }
    if (!connection_established(&peer->connection)) // the handshake began with the timer
        peer_close(shard, peer, COUNT_CLOSED_HANDSHAKE);
    else if (is_told_of_frame(peer))
        cut_off(shard, peer, COUNT_CLOSED_UNAUTHENTICATED);
    else
        authn_deny(shard, peer);
}

void peer_timeouts_transport_expired(struct shard *shard, struct peer_cold *cold) {
    assert(!timer_armed(&cold->timer) && cold->peer->cold == cold);
    if (read_fairness_has_queued(cold->peer))
        cold->peer->received_ms = shard_tick(shard);
    if (cold->peer->transport->ops.expire)
        cold->peer->transport->ops.expire(shard, cold->peer);
}
