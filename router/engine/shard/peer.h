// One connection as the router sees it: its place in the shard, the frame that is coming in, its requests,
// and its end.
//
//     OPEN ──peer's end──▶ ENDED ─────last answer sent─────▶ CLOSING ──kernel let go──▶ gone
//       │                                                       ▲
//       ├──exit, hub's end──▶ LINGERING ──all sent──▶ SHUT ─────┤ read, or 1 s
//       │   (from ENDED, too)
//       └──framing error────▶ SILENCED ───all sent─────┘
//
// An error of the socket, a limit, or the hub's end lead from everywhere to CLOSING. Agents of a connection
// leave as soon as it isn't OPEN any more, because nothing can be answered from there.
//
// A function that finds that a peer must end only marks it. The peer's state moves, and it is put among the
// shard's teardown, which the turn carries out (peer_teardown.h) when the work at hand is over. No function
// loses a peer, or its requests, in the middle of work on it.
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
    uint32_t orders;             // that went out and haven't come back
    uint32_t patterns;           // that these list and that aren't in force yet
    struct mail *waiting, *last; // orders that wait for those; NULL: none
};

// X(state, whether what it sends is heard, whether anything may still be queued for it, the states that may
// follow as PEER_MOVE bits)
#define PEER_STATES(X)                                                                                       \
    X(PEER_OPEN, true, true,                                                                                 \
      PEER_MOVE(PEER_ENDED) | PEER_MOVE(PEER_LINGERING) | PEER_MOVE(PEER_SILENCED) |                         \
          PEER_MOVE(PEER_CLOSING))                                                                           \
    X(PEER_ENDED, false, true, PEER_MOVE(PEER_LINGERING) | PEER_MOVE(PEER_CLOSING))                          \
    X(PEER_LINGERING, false, true,                                                                           \
      PEER_MOVE(PEER_SILENCED) | PEER_MOVE(PEER_SHUT) | PEER_MOVE(PEER_CLOSING))                             \
    X(PEER_SILENCED, false, false, PEER_MOVE(PEER_SHUT) | PEER_MOVE(PEER_CLOSING))                           \
    X(PEER_SHUT, false, false, PEER_MOVE(PEER_CLOSING))                                                      \
    X(PEER_CLOSING, false, false, 0)

enum peer_state {
#define X(state, heard, addressed, next) state,
    PEER_STATES(X)
#undef X
        PEER_STATES_COUNT
};
#define PEER_MOVE(state) (1U << (state))

struct deficit;

struct peer {
    struct connection connection;
    const struct transport *transport;
    uint64_t name; // of the connection in the whole hub; constant
    enum peer_state state : 6;
    bool initialized : 1;
    bool steady : 1;                // it goes on reading, if slowly (peer_took)
    bool probed : 1;                // `taken` is of after the last sign that it takes something
    bool spread : 1;                // it is in shard.spreading.waiting, not in shard.to_send
    unsigned spread_round : 9;      // in which a send of many's events began that is under way (send.c); or 0
    enum governance governance : 3; // of its initialize
    unsigned looks : 8;             // that found nothing more taken since (slow_reader.c)
    bool reads_paused : 1;          // what it says waits, until the peer reads (queue_limit_pauses_reads)

    // The unit that is coming in (receive.c).
    struct unit unit;
    struct buffer *partial; // what holds its bytes so far, when no arrival is being read
    uint32_t partial_at;    // where they are there
    uint32_t partial_bytes;
    uint32_t partial_checked; // of them, when its sender was last judged
    uint32_t frames;          // that came, to tell one partial frame from the next

    // Times are ticks of the shard's (shard_tick).
    uint32_t checked_ms;  // when the sender of a partial frame was last judged
    uint32_t partial_ms;  // when its memory was taken
    uint32_t received_ms; // when bytes last came
    uint32_t sending_ms;  // when the kernel last took something of what is being sent
    struct timer timer;   // frame timeout, idle timeout or linger, by state
    uint32_t taken;       // io_ack_mark, when the kernel was last asked (slow_reader.c)
    uint32_t burst_bytes; // that the kernel has taken since late_at; saturates (slow_reader.c)

    uint32_t missed;                    // events that it could not take and hasn't been told of (send.c)
    uint32_t awaited;                   // orders and the like under way, whose answer this peer waits for
    uint32_t exchanges;                 // of its own, not answered yet (exchange.c)
    uint64_t exchange_bytes : 40;       // that their answers hold
    uint64_t late_at : 24;              // when much began to wait for it (slow_reader.c); 0: less does
    struct request_index request_index; // its requests under way
    struct order *leave_order;          // made with the first registration, so that leaving needs no memory
    struct admission admission;         // of its orders to the registry
    struct subscriber subscriber;
    struct peer_cold *cold; // what few peers need (peer_cold.h); NULL: nothing of it
    struct deficit
        *deficit; // it has had more than its share of turns (engine/turn/read_fairness.c); NULL: it hasn't

    struct list to_send;     // in shard.to_send or spreading.waiting while its outbox is to be looked at
    struct list starved;     // in shard.starved while it waits for a receive buffer
    struct list by_teardown; // in shard.slow_readers while it is watched, in shard.closing once it is closing
    struct peer *ending;     // the next of shard.teardown, the last itself; NULL: it isn't among them
};

static_assert(sizeof(struct peer) <= 448, "an idle connection costs what it is");

// Returns whether the peer is in the middle of a frame whose memory isn't there yet: the peer isn't read
// until it is. For a unit of unknown length, whether there is no memory for more of it.
static inline bool peer_lacks_room(const struct peer *peer) {
    if (!peer->partial)
        return false;
    uint32_t room = peer->partial->capacity - peer->partial_at;
    assert(peer->partial->references > 0 && peer->partial_bytes <= room);
    return peer->unit.sized ? room < peer->unit.bytes
                            : room == peer->partial_bytes && room > RECEIVE_BUFFER_BYTES;
}

// The kernel has taken some of what is being sent. When that comes after a pause, the peer has read.
static inline void peer_took(const struct shard *shard, struct peer *peer) {
    peer->steady = peer->steady || shard_since(shard, peer->sending_ms) >= SLOW_READER_MS;
    peer->sending_ms = shard_tick(shard);
    peer->probed = false;
    peer->looks = 0;
}

// Takes a fresh socket in, on which this transport is spoken, perhaps over TLS. On failure the socket is closed and counted.
void peer_open(struct shard *shard, int socket, const struct transport *transport, bool secure);
// Another transport is spoken from now on.
void peer_speaks(struct shard *shard, struct peer *peer, const struct transport *transport);
// The peer at a connection of this shard, or NULL when it is gone.
struct peer *peer_find(const struct shard *shard, uint64_t connection);

// Takes a peer in that has no socket yet, and perhaps never gets one: messages for it wait. NULL at the limit
// of connections, or when memory is used up. The caller calls connection_plug and io for it, and
// peer_close_sockets when the kernel has let go.
struct peer *peer_open_seat(struct shard *shard, const struct transport *transport);
void peer_close_sockets(struct shard *shard, struct peer *peer);
// Overwrites bytes that a peer has sent and nobody reads any more: where users are on they may bear a
// credential.
void peer_erase_bytes(const struct peer *peer, uint8_t *bytes, size_t count);
static inline void peer_erase(const struct peer *peer, uint8_t *bytes, size_t count) {
    if (__builtin_expect(count > 0 && peer->cold, false))
        peer_erase_bytes(peer, bytes, count);
}

// Drops the frame of which a part has come, and wipes that part: its bytes lie elsewhere, or nothing that still comes
// from the peer counts. No receive into its buffer may be under way. The peer itself may stay for long, for answers.
void peer_drop_partial(struct peer *peer);

// Returns the peer's cold state, made if there is none; NULL where the hub has no room to keep it.
struct peer_cold *peer_take_cold(struct shard *shard, struct peer *peer);
// Returns what a feature keeps for the peer; NULL: nothing.
static inline void *peer_state(const struct peer *peer, unsigned feature) {
    assert(feature < FEATURES_MAX);
    return peer->cold ? peer->cold->states[feature] : NULL;
}
// Makes a feature's state of the peer, zeroed, as a part of what the connection takes (shard.places). The engine gives the
// state back with the peer.
// NULL where the hub has no room to keep it.
void *peer_state_take(struct shard *shard, struct peer *peer, unsigned feature, size_t bytes);
// Sets a feature's state of the peer to memory that the feature has taken elsewhere. The feature gives the memory back when
// the peer is freed (peer_freed). NULL: the feature has given the memory back.
void peer_keep(struct peer *peer, unsigned feature, void *state);
// Whether nothing that is queued for it would reach it any more. Inline, as each frame asks it.
static inline bool peer_is_deaf(const struct peer *peer) {
#define X(state, heard, addressed, next) | (addressed ? PEER_MOVE(state) : 0)
    const unsigned addressed_states = 0 PEER_STATES(X);
#undef X
    assert(peer->state < PEER_STATES_COUNT);
    return !(addressed_states & PEER_MOVE(peer->state)) ||
           (peer->connection.broken && !peer->connection.paused);
}
// Whether it is sent what waits for it, to be half-closed after that.
static inline bool peer_lingers(const struct peer *peer) {
    return peer->state == PEER_LINGERING || peer->state == PEER_SILENCED;
}

// The peer's end came: agents leave, answers that are due are still delivered.
void peer_ended(struct shard *shard, struct peer *peer);
// Sends what is queued, as long as the peer goes on taking some of it, then half-closes, throws away what
// comes in for 1 s more, and closes. When the hub ends, all of it takes 1 s.
void peer_linger(struct shard *shard, struct peer *peer);
// Lets a peer linger and queues nothing more for it: its last message is queued.
void peer_silence(struct shard *shard, struct peer *peer);
// Ends the peer now, and drops its queue. `counter` tells why; COUNTERS_COUNT when the end is counted
// elsewhere.
void peer_close(struct shard *shard, struct peer *peer, int counter);
// Goes on with an end that waits for answers to be sent; to be called whenever some were.
void peer_settle(struct shard *shard, struct peer *peer);
// Frees a closing peer that the kernel has let go, and its place.
void peer_free(struct shard *shard, struct peer *peer);
// When it will have taken too long with what it does, unless something comes before; UINT64_MAX: never.
uint64_t peer_due_ms(const struct shard *shard, const struct peer *peer);
// Arms the timer for what it watches already.
void peer_rewatch(struct shard *shard, struct peer *peer);
// Arms the timer for what it has to watch from now on.
void peer_watch(struct shard *shard, struct peer *peer);
// Arms the timers of all peers anew, after the times that these may take have changed: how long each of them
// has taken already counts.
void peers_rewatch(struct shard *shard);
