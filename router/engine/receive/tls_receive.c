#include "router/engine/receive/tls_receive.h"

#include <assert.h>
#include <errno.h>

#include "router/engine/receive/reassembly.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/send.h"
#include "router/rights/authn.h"

enum { HANDSHAKE_STEPS_A_TURN_MAX = 4 }; // steps of handshakes; with RSA each may take a millisecond

// Ends a peer whose bytes can't be opened. An alert says so, and is the last thing that the peer hears.
static void tls_receive_refuse(struct shard *shard, struct peer *peer) {
    stats_count(&shard->stats,
                connection_established(&peer->connection) ? COUNT_RECORDS_BROKEN : COUNT_HANDSHAKES_FAILED);
    if (peer_end_own(shard, peer, PEER_END_RECORDS))
        return;
    peer_silence(shard, peer);
    connection_want(&peer->connection, NULL, 0);
    peer_drop_partial(peer);
}

// Hands plaintext, or an error of TLS, on. Returns the offset where reading was cut short; 0: all was read.
static uint32_t pass_on(struct shard *shard, struct peer *peer, const struct io_event *event) {
    assert(event->result > 0 || !event->buffer);
    if (event->result == -EBADMSG) {
        tls_receive_refuse(shard, peer);
    } else if (event->result == -ENOMEM) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    } else {
        if (event->result == -ECONNABORTED)
            stats_count(&shard->stats, connection_established(&peer->connection) ? COUNT_STREAMS_TRUNCATED
                                                                                 : COUNT_HANDSHAKES_FAILED);
        return receive_arrival(shard, peer, event, 0);
    }
    return 0;
}

static void established(struct shard *shard, struct peer *peer) {
    assert(connection_established(&peer->connection));
    stats_count(&shard->stats, COUNT_HANDSHAKES);
    if (identity_of(peer) && peer->state == PEER_OPEN)
        peer_credential_attach(shard, peer); // a connection's own credential counts before any message
    peer_timer_restart(shard, peer);
    send_soon(shard, peer); // messages that waited for the handshake
}

// Decrypts the records that have come, until reading is cut short. Returns the offset of that in the plaintext *event;
// 0: all was read.
static uint32_t open_all(struct shard *shard, struct peer *peer, struct io_event *event) {
    struct connection *connection = &peer->connection;
    bool was_established = connection_established(connection),
         cuts = shard->read_fairness.may_stop_between_units;
    uint32_t cut = 0;
    assert(connection->secure);
    shard->handshake_steps += !was_established;
    while (!cut && peer->state != PEER_CLOSING && connection_next_plaintext(connection, event)) {
        shard->read_fairness.may_stop_between_units = cuts && event->buffer;
        cut = pass_on(shard, peer, event);
    }
    if (peer->state == PEER_CLOSING)
        return cut;
    if (!was_established && connection_established(connection))
        established(shard, peer);
    if (connection_has_unsent(connection))
        send_soon(shard, peer);
    if (cut)
        // Copies the records that wait, since the buffer goes back to the kernel
        connection_put_off(connection);
    else if (list_empty(&peer->by_receive_wait))
        receive_go_on(shard, peer);
    return cut;
}

// Lets a peer wait for its turn to do a handshake. The peer isn't read meanwhile, and bytes that still arrive wait,
// too.
static void wait_for_turn(struct shard *shard, struct peer *peer) {
    assert(!connection_established(&peer->connection));
    connection_put_off(&peer->connection);
    connection_pause(&peer->connection, shard->io);
    list_remove(&peer->by_receive_wait);
    peer->queued = false;
    list_append(&shard->waiting_handshakes, &peer->by_receive_wait);
}

uint32_t tls_receive_event(struct shard *shard, struct peer *peer, struct io_event *event) {
    struct connection *connection = &peer->connection;
    assert(connection->secure && peer->state <= PEER_CLOSING);
    bool full =
        shard->handshake_steps >= HANDSHAKE_STEPS_A_TURN_MAX || !list_empty(&shard->waiting_handshakes);
    connection_received_records(connection, event);
    receive_queue(shard, peer, event);
    buffer_drop(event->buffer);
    if (peer->state == PEER_CLOSING)
        return 0;
    if (connection_waits(connection))
        connection_put_off(connection);
    else if (full && event->result > 0 && !connection_established(connection))
        wait_for_turn(shard, peer);
    else
        return open_all(shard, peer, event);
    return 0;
}

uint32_t tls_receive_rest(struct shard *shard, struct peer *peer, struct io_event *event, uint32_t at) {
    assert(at && event->buffer && peer->connection.secure);
    uint32_t cut = receive_arrival(shard, peer, event, at);
    return cut ? cut : open_all(shard, peer, event);
}

void tls_receive_resume_handshakes(struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    struct io_event event;
    assert(!shard->read_fairness.may_stop_between_units);
    shard->handshake_steps = 0;
    while (shard->handshake_steps < HANDSHAKE_STEPS_A_TURN_MAX && !list_empty(&shard->waiting_handshakes))
        open_all(shard, list_entry(list_take(&shard->waiting_handshakes), struct peer, by_receive_wait),
                 &event);
}
