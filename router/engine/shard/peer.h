// The state of one connection: its slot in the shard, the frame that is coming in, its requests, and its end.
//
//     OPEN ──peer's end──▶ ENDED ─────last answer sent─────▶ CLOSING ──kernel is done──▶ freed
//       │                                                       ▲
//       ├──exit, hub's end──▶ LINGERING ──all sent──▶ SHUT ─────┤ read, or 1 s
//       │   (from ENDED, too)
//       └──framing error────▶ SILENCED ───all sent─────┘
//
// An error of the socket, a limit, or the hub's end lead from every state to CLOSING. A connection's agents leave as
// soon as the connection isn't OPEN any more, because the agents can't answer then.
//
// A function that finds that a peer must end only marks the peer: the state changes, and the peer joins shard.teardown.
// The turn carries the teardown out when the present work is done (peer_teardown.h). So no function loses a peer, or
// the peer's requests, in the middle of work on the peer.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agents/topics.h"
#include "core/base/governance.h"
#include "core/base/list.h"
#include "core/base/wheel.h"
#include "core/requests/request_index.h"
#include "core/wire/wire.h"
#include "io/connection.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/shard.h"
#include "router/engine/shard/transport.h"

struct mail;

// A peer's orders to the registry that are under way (router/registry/orders.h). Zeroed: none.
struct admission {
    uint32_t orders;             // orders under way
    uint32_t patterns;           // patterns of these orders that aren't in force yet
    struct mail *waiting, *last; // orders that wait until those are done; NULL: none
};

// X(state, whether messages may be queued for the peer, the states that may follow as PEER_MOVE bits)
#define PEER_STATES(X)                                                                                       \
    X(PEER_OPEN, true,                                                                                       \
      PEER_MOVE(PEER_ENDED) | PEER_MOVE(PEER_LINGERING) | PEER_MOVE(PEER_SILENCED) |                         \
          PEER_MOVE(PEER_CLOSING))                                                                           \
    X(PEER_ENDED, true, PEER_MOVE(PEER_LINGERING) | PEER_MOVE(PEER_CLOSING))                                 \
    X(PEER_LINGERING, true, PEER_MOVE(PEER_SILENCED) | PEER_MOVE(PEER_SHUT) | PEER_MOVE(PEER_CLOSING))       \
    X(PEER_SILENCED, false, PEER_MOVE(PEER_SHUT) | PEER_MOVE(PEER_CLOSING))                                  \
    X(PEER_SHUT, false, PEER_MOVE(PEER_CLOSING))                                                             \
    X(PEER_CLOSING, false, 0)

enum peer_state {
#define X(state, addressed, next) state,
    PEER_STATES(X)
#undef X
        PEER_STATES_COUNT
};
#define PEER_MOVE(state) (1U << (state))

struct deficit;

struct peer {
    struct connection connection;
    const struct transport *transport;
    uint64_t connection_id; // of the connection in the whole hub; constant
    enum peer_state state : 6;
    bool initialized : 1;
    bool steady : 1;                // the peer reads, if slowly (peer_took)
    bool probed : 1;                // `taken` was read after the kernel last took bytes
    bool in_fanout : 1;             // `to_send` is in shard.fanout_sends.waiting, not in shard.to_send
    unsigned fanout_round : 9;      // the round in which the present send of a fan-out began (send.c); or 0
    enum governance governance : 3; // the level that initialize gave
    unsigned looks : 7;             // looks in a row that found no more bytes taken (slow_reader.c)
    // The hub reads no messages until the peer reads (queue_limit_pauses_reads)
    bool reads_paused : 1;
    bool rationed : 1; // received one arrival at a time, since buffers were short (receive.c)
    bool queued : 1;   // `by_receive_wait` is, or was last, in shard.receive_queue

    // The unit that is coming in (receive.c).
    struct unit unit;
    struct buffer *partial; // holds the unit's bytes so far, between two arrivals
    uint32_t partial_at;    // the offset of these bytes in the buffer
    uint32_t partial_bytes;
    uint32_t partial_checked; // the value of partial_bytes when the sender's speed was last checked
    uint32_t frames;          // how many frames came, to tell one partial frame from the next

    // Times are ticks of the shard (shard_tick).
    uint32_t checked_ms;  // when the sender's speed was last checked
    uint32_t partial_ms;  // when the memory of `partial` was taken
    uint32_t received_ms; // when bytes last came
    uint32_t sending_ms;  // when the kernel last took bytes of the present send
    struct timer timer;   // of the frame, of idleness or of lingering, by state
    uint32_t taken;       // io_ack_mark at the last look (slow_reader.c)
    uint32_t burst_bytes; // bytes that the kernel has taken since backlog_since; saturates (slow_reader.c)

    uint32_t missed;              // lost events of which the peer must still be told (send.c)
    uint32_t awaited;             // orders and the like under way that this peer waits for
    uint32_t exchanges;           // exchanges of the peer that aren't answered yet (exchange.c)
    uint64_t exchange_bytes : 40; // bytes of the answers that these exchanges hold
    uint64_t
        backlog_since : 24; // when a quarter of the reader's bound waited, in ticks (slow_reader.c); 0: less waits
    struct request_index request_index; // the peer's requests under way, by id
    struct order *leave_order;          // made with the first registration: leaving needs no memory
    struct admission admission;
    struct subscriber subscriber;
    struct peer_cold *cold; // state that few peers need (peer_cold.h); or NULL
    struct deficit
        *deficit; // of a peer that has had more than its share (engine/turn/read_fairness.c); or NULL

    // In shard.to_send or fanout_sends.waiting while the outbox may have messages to send
    struct list to_send;
    // In shard.starved, shard.receive_queue or shard.waiting_handshakes while the peer waits to be read
    struct list by_receive_wait;
    struct list
        by_lifecycle;    // in shard.slow_readers while the reader is watched, in shard.closing in CLOSING
    struct peer *ending; // the next in shard.teardown; the last has itself; NULL: the peer isn't in there
};

static_assert(sizeof(struct peer) <= 448, "an idle connection costs what it is");

// Returns whether memory is missing for the rest of the frame that is coming in. The peer isn't read until there is
// memory.
static inline bool peer_lacks_room(const struct peer *peer) {
    if (!peer->partial)
        return false;
    uint32_t room = peer->partial->capacity - peer->partial_at;
    assert(peer->partial->references > 0 && peer->partial_bytes <= room);
    return peer->unit.length_known ? room < peer->unit.bytes
                                   : room == peer->partial_bytes && room > RECEIVE_BUFFER_BYTES;
}

// Notes that the kernel has taken bytes of the present send. If that comes after a pause, the peer has read.
static inline void peer_took(const struct shard *shard, struct peer *peer) {
    peer->steady = peer->steady || shard_since(shard, peer->sending_ms) >= SLOW_READER_MS;
    peer->sending_ms = shard_tick(shard);
    peer->probed = false;
    peer->looks = 0;
}

// Makes a peer of a fresh socket with this transport, perhaps over TLS. On failure the socket is closed and counted.
void peer_open(struct shard *shard, int socket, const struct transport *transport, bool secure);
// Gives the peer another transport from now on.
void peer_speaks(struct shard *shard, struct peer *peer, const struct transport *transport);
// Returns the peer of a connection of this shard, or NULL if that peer is gone.
struct peer *peer_find(const struct shard *shard, uint64_t connection);

// Makes a peer without a socket: messages for the peer wait until the peer has one. Returns NULL at the limit of
// connections, or without memory. The caller calls connection_set_sockets and io, and peer_close_sockets when the
// kernel is done.
struct peer *peer_open_stub(struct shard *shard, const struct transport *transport);
void peer_close_sockets(struct shard *shard, struct peer *peer);
// Overwrites bytes that a peer has sent and that nobody reads any more. With a users file such bytes may hold a
// credential.
void peer_erase_bytes(const struct peer *peer, uint8_t *bytes, size_t count);
static inline void peer_erase(const struct peer *peer, uint8_t *bytes, size_t count) {
    if (__builtin_expect(count > 0 && peer->cold, false))
        peer_erase_bytes(peer, bytes, count);
}

// Drops the frame that is coming in, and wipes its buffer. For when the bytes have been copied, or when the peer isn't
// read any more. No receive into the buffer may be under way.
void peer_drop_partial(struct peer *peer);

// Returns the peer's cold state, and makes the state if there is none. Returns NULL without memory.
struct peer_cold *peer_take_cold(struct shard *shard, struct peer *peer);
// Returns a feature's state of the peer, or NULL.
static inline void *peer_state(const struct peer *peer, unsigned feature) {
    assert(feature < FEATURES_MAX);
    return peer->cold ? peer->cold->states[feature] : NULL;
}
// Makes a feature's state of the peer, zeroed, in the quota of connections (shard.connection_quota). The engine gives
// the state back with the peer. Returns NULL without memory.
void *peer_state_take(struct shard *shard, struct peer *peer, unsigned feature, size_t bytes);
// Sets a feature's state of the peer to memory that the feature has taken elsewhere. The feature gives the memory back
// when the peer is freed (peer_freed). NULL: the feature has given the memory back.
void peer_keep(struct peer *peer, unsigned feature, void *state);
// Returns whether messages that are queued for the peer would no longer reach the peer. Inline, since each frame needs
// this.
static inline bool peer_is_unreachable(const struct peer *peer) {
#define X(state, addressed, next) | (addressed ? PEER_MOVE(state) : 0)
    const unsigned addressed_states = 0 PEER_STATES(X);
#undef X
    assert(peer->state < PEER_STATES_COUNT);
    return !(addressed_states & PEER_MOVE(peer->state)) ||
           (peer->connection.broken && !peer->connection.paused);
}
// Returns whether the peer is half-closed as soon as its queue has been sent.
static inline bool peer_lingers(const struct peer *peer) {
    return peer->state == PEER_LINGERING || peer->state == PEER_SILENCED;
}

// Handles the end of the peer's stream: its agents leave, and answers that the peer waits for are still sent.
void peer_ended(struct shard *shard, struct peer *peer);
// Sends the queue as long as the peer goes on reading, half-closes, discards for 1 s what the peer still sends, and
// closes. When the hub ends, all of this takes at most 1 s.
void peer_linger(struct shard *shard, struct peer *peer);
// Lets the peer linger, and queues no more messages for the peer. The caller has queued the last one.
void peer_silence(struct shard *shard, struct peer *peer);
// Ends the peer in the own way of its transport. Returns false if the transport has none for this end: the caller must
// end the peer.
static inline bool peer_end_own(struct shard *shard, struct peer *peer, enum peer_end_reason why) {
    return peer->transport->ops.end && peer->transport->ops.end(shard, peer, why);
}
// Ends the peer now and drops its queue. `counter` counts the reason; COUNTER_NONE if the caller counts the end.
void peer_close(struct shard *shard, struct peer *peer, int counter);
// Goes on with an end that waits until answers are sent. Must be called whenever some were sent.
void peer_settle(struct shard *shard, struct peer *peer);
// Frees a peer in CLOSING, and its slot, when the kernel is done with the socket.
void peer_free(struct shard *shard, struct peer *peer);
// Returns when the peer's present state times out, in ms; UINT64_MAX: never.
uint64_t peer_due_ms(const struct shard *shard, const struct peer *peer);
// Arms the peer's timer for the present state, and keeps when that state began.
void peer_timer_update(struct shard *shard, struct peer *peer);
// Does so after the hub has let the peer's bytes wait, from the tick `from_ms` to now: that time doesn't count as the
// peer's slowness.
void peer_discount_wait(struct shard *shard, struct peer *peer, uint32_t from_ms);
// Arms the peer's timer for a state that begins now.
void peer_timer_restart(struct shard *shard, struct peer *peer);
// Arms the timers of all peers anew after the limits of time have changed. The time that has passed counts.
void peer_timer_update_all(struct shard *shard);
