// All bounds of the hub. The enum has bounds that are fixed when the program is built: sizes of buffers and tables, and
// values that nothing can exceed. struct limits has the bounds that an operator may set.
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    // Most bytes of one arrival. Compared with 16 KiB, an arrival's end cuts half as many frames of that size (a tenth
    // less CPU for such frames, measured). With 64 KiB, the buffers of a busy turn outgrow the cache.
    ARRIVAL_BYTES_MAX = 32 * 1024,
    // Room before and behind an arrival, in its buffer. If a frame lies in two arrivals, the smaller part is moved
    // there (receive.c).
    RECEIVE_HEAD_BYTES = 4 * 1024,
    RECEIVE_TAIL_BYTES = 12 * 1024,
    // Bytes of a receive buffer. Many connections share a shard's buffers.
    RECEIVE_BUFFER_BYTES = RECEIVE_HEAD_BYTES + ARRIVAL_BYTES_MAX + RECEIVE_TAIL_BYTES,
    // Receive buffers that a shard provides to the kernel at a time, and so the most arrivals of one turn. With half as
    // many, a thousand sources of one small request each cost a fifth more.
    RECEIVE_BUFFERS_PROVIDED = 64,
    RECEIVE_BUFFERS_PROVIDED_MIN = 8,
    // Most bytes of one arrival from a peer for whom little may wait: each of these bytes may ask for an answer.
    SMALL_ARRIVAL_BYTES = 1024,
    // Most bytes of one send to such a peer. The send has memory of its own: buffers of other peers would stay in use
    // for as long as this peer doesn't read.
    SMALL_SEND_BYTES = 16 * 1024,
    // Most looks for new arrivals in a turn, after reading and before sending.
    LOOKS_AGAIN_MAX = 2,
    // Readable bytes behind each buffer's end, so that a vector load that begins inside the buffer never faults.
    BUFFER_SLACK_BYTES = 64,

    // An outgoing frame up to this size is copied together with its neighbours; a larger frame is sent from its place.
    // An iovec entry costs more than copying this much (bench/send measures it).
    COPY_BYTES_MAX = 2048,
    // Most vectors of one gathering send.
    SEND_VECTORS_MAX = 64,
    // Most bytes of one send. The end of a send shows that the reader takes bytes, however many bytes wait for that
    // reader.
    SEND_BYTES_MAX = 512 * 1024,

    // A hub id is shard, slot and generation, together an integer below 2^53.
    HUB_ID_SHARD_BITS = 6,
    HUB_ID_SLOT_BITS = 22,
    HUB_ID_GENERATION_BITS = 25,
    HUB_ID_DIGITS_MAX = 16,
    SHARDS_MAX = 1 << HUB_ID_SHARD_BITS,

    AGENT_ID_BYTES_MAX = 255,
    METHOD_BYTES_MAX = 255,
    EVENT_BYTES_MAX = 255, // of an event's name, or of a pattern
    AGENTS_PER_CONNECTION_MAX = 64,
    CAPABILITIES_BYTES_MAX = 64 * 1024,
    JOURNAL_ANSWER_BYTES_MAX = 64 * 1024,
    METHODS_PER_AGENT_MAX = 4096,
    SUBSCRIPTIONS_PER_CONNECTION_MAX = 1024,

    // Requests that may wait in turn on one connection of HTTP. The next request is refused.
    HTTP_PIPELINED_MAX = 4096,
    HTTP_IDLE_MS = 75 * 1000,
    // The hub pings a WebSocket that has been silent for WEBSOCKET_SILENCE_MS, and waits WEBSOCKET_PONG_MS for the
    // pong.
    WEBSOCKET_SILENCE_MS = 25 * 1000,
    WEBSOCKET_PONG_MS = 10 * 1000,
    // A stream of events is never silent for longer: the hub sends something.
    SSE_SILENCE_MS = 15 * 1000,

    // Most addresses at which a hub listens.
    LISTENERS_MAX = 16,

    MAILBOX_MESSAGES = 4096,
    // Messages that return to their owner and may lie in the mailbox while the owner sleeps. The messages' buffers stay
    // in use meanwhile.
    MAILBOX_IDLE_MAX = 64,
    COMPLETIONS_MAX = 16 * 1024,

    // Most entries, and bytes, of one write to the audit journal. The kernel writes in a thread of its own, which may
    // have to share the core with the shard: during a long write all arrivals wait.
    JOURNAL_VECTORS_MAX = 1024,
    JOURNAL_WRITE_BYTES_MAX = 256 * 1024,

    // A chunk of HCS up to this size is copied to its session's history, so that the history doesn't hold the buffer of
    // other frames.
    HISTORY_COPY_BYTES_MAX = 16 * 1024,
    // A client of HCS that has taken nothing for so long no longer pauses its producer.
    STUCK_READER_MS = 10 * 1000,
    // Most remembered names under which streams of one HCS session were opened over HTTP.
    SESSION_VOICES_MAX = 1024,

    // Most bytes of an approver's feedback on a held message.
    GATE_FEEDBACK_BYTES_MAX = 4096,

    // Most events that leave together because they lie side by side.
    EVENT_RUN_MAX = 128,

    // A hub that hands over serves for this long before it drains: connections that the kernel had begun to give to
    // this hub still arrive.
    HANDOVER_MS = 100,

    // Near the bound of memory, a peer that takes nothing for so long of the bytes that wait for it is a slow reader.
    SLOW_READER_MS = 200,
    // The same time when there is memory enough. Kernels show in steps what a peer reads: TCP opens its window when a
    // sixteenth of the receive buffer is free, and a Unix socket releases 32 KiB and more at once. STEADY_READER_MS
    // holds for a reader that has taken a step, if slowly.
    QUIET_READER_MS = 1000,
    STEADY_READER_MS = 5000,
    // Bytes that may wait for one peer; four times --max-queue if that is more. A peer over this bound is closed at
    // once, except in a burst: a part of the peer's send was taken within PACE_MS, and a quarter of the bound or
    // more has waited for less than LATE_MS. The bound of a burst is twice the bound plus four bytes for each byte that
    // the peer has taken since that quarter began to wait, but at most PEER_BURSTS times the bound.
    PEER_BYTES_LEAST = 16 * 1024 * 1024,
    PACE_MS = 200,
    LATE_MS = 2000,
    PEER_BURSTS = 8,
    // Bytes that may wait for a peer without a credential, or for a peer whose user was over a limit within the last
    // CONFINED_MS. Over this bound the hub doesn't read from the peer until the peer reads. With the memory of a send,
    // an arrival and the allocator's gaps, such a peer uses about 64 KiB.
    CONFINED_BYTES_MAX = 32 * 1024,
    CONFINED_MS = 1000,
    // After a framing error the connection is half-closed and read for this long, so that the peer gets the answer.
    LINGER_MS = 1000,
    // Most time for the handshake of a secure connection.
    HANDSHAKE_MS = 10 * 1000,
};

static_assert(HUB_ID_SHARD_BITS + HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS == 53,
              "a hub id must survive a peer that keeps numbers as doubles");
static_assert(COPY_BYTES_MAX * 4 <= RECEIVE_BUFFER_BYTES, "a copied frame fits a stage several times");
static_assert((MAILBOX_MESSAGES & (MAILBOX_MESSAGES - 1)) == 0, "ring indices wrap by masking");

// Bounds of a shard's work in one turn, before the shard looks again for new arrivals. Only tests set other values than
// the defaults.
struct turn_bounds {
    // Time of a turn for reading, and a peer's slice of that time. A peer that takes more waits until others have had
    // their slices (router/engine/turn/read_fairness.h). registry_ns is the time for orders to the registry.
    uint64_t read_ns, slice_ns, registry_ns;
    // Bounds of events to more than `fanout_direct_max` subscribers: the number of sends under way at a time, and the
    // bytes of a turn. Later turns send the rest, behind messages to a single peer. The hub doesn't wait for a send
    // that takes longer than `fanout_wait_ns`.
    uint32_t fanout_direct_max, fanout_sends_max, fanout_bytes_max;
    uint64_t fanout_wait_ns;
    // Bytes of one peer's events that may be queued for a receiver while other events of the same peer are still being
    // sent: enough for sends of a good size.
    uint32_t fanout_ahead_bytes;
    // About the bytes that are gathered for one receiver at a time. A receiver lags if more than `lagging_bytes` wait
    // behind such sends several times (core/send/outbox.h). If a frame must then overtake others, the kernel keeps
    // at most `lagging_backlog_bytes` untaken, and gets twice as many at a time.
    uint32_t send_bytes, lagging_bytes, lagging_backlog_bytes;
    // Bytes of large bodies that a turn receives, and sends: in equal parts for all peers with a large body, each from
    // part_min to part_max (struct turn_parts).
    uint32_t large_bytes, part_min, part_max;
    // Requests that a turn ends because their source has left, and as many because their target has left.
    uint32_t request_ends_max;
    // A peer that has had its share of reading is not read further if one of these is reached. `copies_max`: events of
    // the shard's peers on which another shard has yet to report, for a peer that publishes. `peer_orders_max`: the
    // peer's orders to the registry under way.
    uint32_t copies_max, peer_orders_max;
};

// Fills *bounds with the defaults: up to 1 ms for reading, half of that for orders, and about as long for events.
// Larger values don't make a send cheaper: the memory that a turn touches outgrows the cache, and receivers wait for
// the turn's end.
void turn_bounds_defaults(struct turn_bounds *bounds);

// The parts of large bodies that a turn receives or sends. The more peers have a large body, the smaller the part of
// each.
struct turn_parts {
    uint32_t bytes; // most bytes of each peer in this turn
    uint32_t taken; // peers that took a part in this turn
    uint32_t among; // the expected number of such peers
};

// Begins a turn. The number of peers is estimated from how many took a part in the turns before.
void turn_parts_begin(struct turn_parts *parts, const struct turn_bounds *bounds);
// Returns how many of `bytes` the turn may receive or send. A body that fits an arrival costs no more than other
// messages, and isn't counted.
static inline uint32_t turn_parts_take(struct turn_parts *parts, size_t bytes) {
    assert(parts->bytes > 0);
    parts->taken += bytes > ARRIVAL_BYTES_MAX;
    return bytes < parts->bytes ? (uint32_t)bytes : parts->bytes;
}

enum { BATCH_MEMBERS_MAX = 1 << 20 };

// Bounds that an operator may set: bytes, counts and nanoseconds, as the names say.
struct limits {
    uint32_t header_bytes_max;
    uint32_t frame_bytes_max; // of the body, as Content-Length counts
    uint32_t id_bytes_max;
    uint64_t queue_bytes_max;
    uint64_t memory_bytes_max;
    // Most bytes of entries that aren't written to the audit journal yet, of all shards together
    uint64_t journal_bytes_max;
    uint32_t connections_max;
    uint32_t pending_max;
    uint32_t batch_members_max; // BATCH_MEMBERS_MAX at most
    uint64_t request_timeout_ns;
    uint64_t idle_timeout_ns; // 0: off
    uint64_t frame_timeout_ns;
    uint64_t drain_timeout_ns;
};

// Fills *limits with the documented defaults.
void limits_defaults(struct limits *limits);

// Returns how many receive buffers a shard provides to the kernel: a power of two up to RECEIVE_BUFFERS_PROVIDED, so
// that all shards' buffers together take at most an eighth of the memory.
uint32_t limits_buffers_provided(uint64_t memory_bytes_max, uint32_t shard_count);
// Returns the least memory with which limits_buffers_provided is RECEIVE_BUFFERS_PROVIDED_MIN within that eighth.
uint64_t limits_memory_bytes_least(uint32_t shard_count);
