#include "router/engine/receive/tls_receive.h"

#include <assert.h>
#include <errno.h>

#include "router/engine/receive/reassembly.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/send.h"
#include "router/rights/peer_credential.h"

enum { SHAKES_A_TURN_MAX = 4 }; // steps of handshakes; with RSA each may take a millisecond

// Ends a peer whose bytes can't be opened. An alert says so, and is the last thing that the peer hears.
static void tls_receive_refuse(struct shard *shard, struct peer *peer) {
    stats_count(&shard->stats,
                connection_established(&peer->connection) ? COUNT_RECORDS_BROKEN : COUNT_HANDSHAKES_FAILED);
    if (peer->transport->mistrust) {
        peer->transport->mistrust(shard, peer);
        return;
    }
    peer_silence(shard, peer);
    connection_want(&peer->connection, NULL, 0);
    reassembly_forget(peer);
}

static void pass_on(struct shard *shard, struct peer *peer, const struct io_event *event) {
    assert(event->result > 0 || !event->buffer);
    if (event->result == -EBADMSG) {
        tls_receive_refuse(shard, peer);
    } else if (event->result == -ENOMEM) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    } else {
        if (event->result == -ECONNABORTED)
            stats_count(&shard->stats, connection_established(&peer->connection) ? COUNT_STREAMS_TRUNCATED
                                                                                 : COUNT_HANDSHAKES_FAILED);
        receive_event(shard, peer, event);
    }
}

static void established(struct shard *shard, struct peer *peer) {
    assert(connection_established(&peer->connection));
    stats_count(&shard->stats, COUNT_HANDSHAKES);
    if (identity_of(peer) && peer->state == PEER_OPEN)
        peer_credential_look(shard, peer); // who bears a credential needn't say anything to have shown it
    peer_watch(shard, peer);
    send_soon(shard, peer); // what has waited for this
}

static void open_all(struct shard *shard, struct peer *peer) {
    struct connection *connection = &peer->connection;
    bool was_established = connection_established(connection);
    assert(connection->secure);
    shard->shakes += !was_established;
    for (struct io_event event; peer->state != PEER_CLOSING && connection_opened(connection, &event);)
        pass_on(shard, peer, &event);
    if (peer->state == PEER_CLOSING)
        return;
    if (!was_established && connection_established(connection))
        established(shard, peer);
    if (connection_says(connection))
        send_soon(shard, peer);
    if (list_empty(&peer->starved))
        receive_go_on(shard, peer);
}

// Has a peer wait for its turn. The peer isn't read meanwhile; bytes on their way wait with the rest.
static void wait_for_turn(struct shard *shard, struct peer *peer) {
    assert(!connection_established(&peer->connection));
    connection_put_off(&peer->connection);
    connection_pause(&peer->connection, shard->io);
    list_remove(&peer->starved);
    list_append(&shard->shaking, &peer->starved);
}

void tls_receive_event(struct shard *shard, struct peer *peer, const struct io_event *event) {
    struct connection *connection = &peer->connection;
    assert(connection->secure && peer->state <= PEER_CLOSING);
    bool full = shard->shakes >= SHAKES_A_TURN_MAX || !list_empty(&shard->shaking);
    connection_hear(connection, event);
    buffer_drop(event->buffer);
    if (peer->state == PEER_CLOSING)
        return;
    if (connection_waits(connection))
        connection_put_off(connection);
    else if (full && event->result > 0 && !connection_established(connection))
        wait_for_turn(shard, peer);
    else
        open_all(shard, peer);
}

void tls_receive_shake(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    shard->shakes = 0;
    while (shard->shakes < SHAKES_A_TURN_MAX && !list_empty(&shard->shaking))
        open_all(shard, list_entry(list_take(&shard->shaking), struct peer, starved));
}
