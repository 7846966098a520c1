// One connection as the router sees it: its place in the shard, the frame that is coming in, what it has
// asked, and how it ends.
//
//     OPEN ──peer's end──▶ ENDED ──last answer sent──▶ CLOSING ──kernel let go──▶ gone
//       │ framing error, exit                             ▲
//       └────────▶ LINGERING ──all sent, and read, or 1 s──┘
//
// An error of the socket, a limit, or the hub's end lead from everywhere to CLOSING. Agents of a connection
// leave as soon as it isn't OPEN any more, because nothing can be answered from there.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/asked.h"
#include "core/frame.h"
#include "core/governance.h"
#include "core/list.h"
#include "core/topics.h"
#include "core/wheel.h"
#include "io/connection.h"
#include "router/admit.h"

struct shard;

enum peer_state { PEER_OPEN, PEER_ENDED, PEER_LINGERING, PEER_CLOSING };

struct peer {
    struct connection connection;
    uint64_t name; // of the connection in the whole hub; constant
    enum peer_state state;
    bool initialized;
    bool silenced; // the answer to a framing error is queued: nothing may follow it
    bool shut;     // half-closed by the hub

    // The frame that is coming in (feed.c).
    struct frame_scan scan;
    struct buffer *partial; // what holds its bytes so far, when no arrival is being read
    uint32_t partial_at;    // where they are there
    uint32_t partial_bytes;
    uint32_t partial_checked; // of them, when its sender was last judged
    uint64_t checked_ms;      // when that was
    uint32_t partial_ms;      // when its memory was taken: the low bits of shard_now_ms
    uint64_t sending_ms;      // when the kernel last took something of what is being sent
    struct timer timer;       // frame timeout, idle timeout or linger, by state
    uint64_t heard_ms;        // when bytes last came
    uint32_t frames;          // that came, to tell one partial frame from the next
    uint32_t taken;           // io_taken, when the kernel was last asked (behind.c)

    struct asked asked;         // its requests under way
    struct order *farewell;     // made with the first registration, so that leaving needs no memory
    struct admission admission; // of its orders to the registry
    uint32_t awaited;           // orders and the like under way, whose answer this peer waits for
    uint32_t batches;           // of its own, not answered yet (batch.c)
    uint64_t batch_bytes;       // that their answers hold

    struct subscriber subscriber;
    enum governance governance; // of its initialize
    uint32_t missed;            // events that it could not take and hasn't been told of (send.c)

    struct list to_send;  // in shard.to_send while its outbox is to be looked at
    struct list starved;  // in shard.starved while it waits for a receive buffer
    struct list standing; // in shard.behind while it is waited for, in shard.closing once it is closing
};

// Whether it is in the middle of a frame whose memory isn't there yet: it isn't read until it is.
static inline bool peer_lacks_room(const struct peer *peer) {
    const struct frame_scan *scan = &peer->scan;
    return peer->partial && scan->header_bytes &&
           peer->partial->capacity - peer->partial_at < scan->header_bytes + scan->body_bytes;
}

// Takes a fresh socket in. On failure the socket is closed and counted.
void peer_open(struct shard *shard, int socket);
// The peer at a connection of this shard, or NULL when it is gone.
struct peer *peer_find(const struct shard *shard, uint64_t connection);

// The peer's end came: agents leave, answers that are due are still delivered.
void peer_ended(struct shard *shard, struct peer *peer);
// Something came of watching whether it goes altogether after its end.
void peer_watched(struct shard *shard, struct peer *peer, const struct io_event *event);
// Sends what is queued, as long as the peer takes some of it within 1 s, then half-closes, throws away what
// comes in for 1 s more, and closes. When the hub ends, all of it takes 1 s.
void peer_linger(struct shard *shard, struct peer *peer);
// Ends it now. What is queued for it is dropped. `counter` tells why; COUNTERS_COUNT when that is counted
// elsewhere.
void peer_close(struct shard *shard, struct peer *peer, int counter);
// Goes on with an end that waits for answers to be sent; to be called whenever some were.
void peer_settle(struct shard *shard, struct peer *peer);
// Frees the closing peers that the kernel has let go.
void peers_reap(struct shard *shard);
// Its timer went off.
void peer_timer(struct shard *shard, struct peer *peer);
// Arms the timer for what it has to watch from now on.
void peer_watch(struct shard *shard, struct peer *peer);
// Arms the timers of all peers anew, after the times that these may take have changed: how long each of them
// has taken already counts.
void peers_rewatch(struct shard *shard);
