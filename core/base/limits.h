// Every bound of the hub in one place. The enum holds bounds that are fixed when the program is built: sizes
// of buffers and tables, and values that nothing can exceed. struct limits holds the bounds that an operator
// may set, with their defaults.
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum {
    // The most that one arrival brings. At twice 16 KiB an arrival's end cuts half as many frames of that
    // size (a tenth less CPU for them, measured). At four times, the buffers of a busy turn outgrow the
    // cache.
    ARRIVAL_BYTES_MAX = 32 * 1024,
    // Room before and behind an arrival, in its buffer: a frame that lies in two arrivals is put together
    // where the smaller part has to move (receive.c).
    RECEIVE_HEAD_BYTES = 4 * 1024,
    RECEIVE_TAIL_BYTES = 12 * 1024,
    // A receive buffer. Many connections share a shard's.
    RECEIVE_BUFFER_BYTES = RECEIVE_HEAD_BYTES + ARRIVAL_BYTES_MAX + RECEIVE_TAIL_BYTES,
    // How many of them a shard lends to the kernel at a time, and so the most arrivals of one turn. With half
    // as many a thousand sources of one small request each cost a fifth more.
    RECEIVE_BUFFERS_PROVIDED = 64,
    RECEIVE_BUFFERS_PROVIDED_MIN = 8,
    // The most that one arrival brings of a peer for whom little may wait: each of its bytes may ask for an answer.
    SMALL_ARRIVAL_BYTES = 1024,
    // Bytes that are handed to the kernel at a time for such a peer. The send has memory of its own: buffers of other
    // peers would stay in use for as long as this peer doesn't read.
    SMALL_SHIPMENT_BYTES = 16 * 1024,
    // Looks for new arrivals that a turn takes after reading and before it sends.
    LOOKS_AGAIN_MAX = 2,
    // Readable bytes behind each buffer's end, so that a vector load that begins inside never faults.
    BUFFER_SLACK_BYTES = 64,

    // A frame up to this size is copied together with its neighbours on the way out; a larger one is sent
    // from where it lies. An iovec entry costs more than copying this much (bench/send measures it).
    COPY_BYTES_MAX = 2048,
    // Vectors of one gathering send.
    SEND_VECTORS_MAX = 64,
    // Bytes handed to the kernel at a time, at most. The end of a send tells a reader that takes something
    // from one that takes nothing, however much waits for it.
    SEND_BYTES_MAX = 512 * 1024,

    // A hub id is shard, slot and generation, together a whole number below 2^53.
    HUB_ID_SHARD_BITS = 6,
    HUB_ID_SLOT_BITS = 22,
    HUB_ID_GENERATION_BITS = 25,
    HUB_ID_DIGITS_MAX = 16,
    SHARDS_MAX = 1 << HUB_ID_SHARD_BITS,

    AGENT_ID_BYTES_MAX = 255,
    METHOD_BYTES_MAX = 255,
    EVENT_BYTES_MAX = 255, // of an event's name, and of a pattern
    AGENTS_PER_CONNECTION_MAX = 64,
    CAPABILITIES_BYTES_MAX = 64 * 1024,
    JOURNAL_ANSWER_BYTES_MAX = 64 * 1024,
    METHODS_PER_AGENT_MAX = 4096,
    SUBSCRIPTIONS_PER_CONNECTION_MAX = 1024,

    // Requests that may wait for their turn on one connection of HTTP. The next one is refused.
    HTTP_PIPELINED_MAX = 4096,
    HTTP_IDLE_MS = 75 * 1000,
    // A WebSocket that has been silent for so long is asked for a sign, and given so long for it.
    WEBSOCKET_SILENCE_MS = 25 * 1000,
    WEBSOCKET_PONG_MS = 10 * 1000,
    // A stream of events is never silent for longer.
    SSE_SILENCE_MS = 15 * 1000,

    // Addresses that a hub serves.
    LISTENERS_MAX = 16,

    MAILBOX_MESSAGES = 4096,
    // Messages that only come home, and may lie in the mailbox while the consumer sleeps. Their buffers are
    // kept meanwhile.
    MAILBOX_IDLE_MAX = 64,
    COMPLETIONS_MAX = 16 * 1024,

    // Entries of the audit journal that one write gathers, and its bytes. The kernel writes in a thread of its own, which
    // may have to share the core with the shard: a long write keeps all that comes meanwhile waiting.
    JOURNAL_VECTORS_MAX = 1024,
    JOURNAL_WRITE_BYTES_MAX = 256 * 1024,

    // A chunk of HCS up to this size is copied for its session's history, so that it doesn't keep the buffer
    // of its neighbours.
    HISTORY_COPY_BYTES_MAX = 16 * 1024,
    // A client of HCS that has taken nothing for so long has no say in whether its producer goes on.
    STUCK_READER_MS = 10 * 1000,
    // Names under which streams of one HCS session were opened over HTTP, that are remembered.
    SESSION_VOICES_MAX = 1024,

    // Bytes of an approver's feedback on a held message.
    GATE_FEEDBACK_BYTES_MAX = 4096,

    // Events that go out together when they lie side by side.
    EVENT_RUN_MAX = 128,

    // A hub that steps aside goes on serving for this long before it drains: connections that the kernel had
    // begun to give to it still come.
    STEP_ASIDE_MS = 100,

    // Near the bound of memory, who takes nothing of what waits for it for so long is a slow reader.
    SLOW_READER_MS = 200,
    // Elsewhere there is more time. Kernels show in steps what a peer reads: TCP opens its window when a
    // sixteenth of the receive buffer is free, a Unix socket gives up 32 KiB and more at once. A reader that
    // has taken a step, if slowly, may take longer for the next one.
    QUIET_READER_MS = 1000,
    STEADY_READER_MS = 5000,
    // Bytes that may wait for one peer; where four times --max-queue is more, that is the bound. A peer past the bound is
    // closed at once, but for a burst. In a burst a part of the peer's shipment was taken within PACE_MS, and a quarter of
    // the bound or more has waited for less than LATE_MS. A burst has a bound of its own: twice the bound, and four bytes for
    // each byte that the peer has taken since that quarter began to wait, but PEER_BURSTS times the bound at most.
    PEER_BYTES_LEAST = 16 * 1024 * 1024,
    PACE_MS = 200,
    LATE_MS = 2000,
    PEER_BURSTS = 8,
    // Bytes that may wait for a peer without a credential, or whose user was over a limit within the last
    // second. Past this bound the hub doesn't read from the peer until the peer reads.
    // With the memory of a send, an arrival and the allocator's gaps it comes to 64 KiB about.
    CONFINED_BYTES_MAX = 32 * 1024,
    CONFINED_MS = 1000,
    // After a framing error the connection is half-closed and read for this long, so that the answer arrives.
    LINGER_MS = 1000,
    // From a connection's beginning to the end of its handshake, where it is secure.
    HANDSHAKE_MS = 10 * 1000,
};

static_assert(HUB_ID_SHARD_BITS + HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS == 53,
              "a hub id must survive a peer that keeps numbers as doubles");
static_assert(COPY_BYTES_MAX * 4 <= RECEIVE_BUFFER_BYTES, "a copied frame fits a stage several times");
static_assert((MAILBOX_MESSAGES & (MAILBOX_MESSAGES - 1)) == 0, "ring indices wrap by masking");

// The work of a shard's turn before the shard looks again at new arrivals. Only tests set it: they shrink it.
struct turn_bounds {
    // Time of a turn for reading, and a peer's share of it. A peer that takes more waits until others have
    // had their share (router/engine/turn/read_fairness.h). orders_ns is the time for orders to the registry.
    uint64_t read_ns, share_ns, orders_ns;
    // Events to more than `at_once` subscribers: the number of sends under way at a time, and the bytes that
    // go out in a turn. The rest is sent in the turns that follow, behind messages for one peer alone. A send
    // that takes longer than `patience_ns` isn't waited for.
    uint32_t at_once, sends, bytes;
    uint64_t patience_ns;
    // Bytes of one peer's events that may be queued for a receiver while others of its events are still being
    // spread: enough for sends that are worth their making.
    uint32_t ahead_bytes;
    // Bytes that are gathered for one receiver at a time, about. A receiver lags when more than
    // `lagging_bytes` stand behind that again and again (core/send/outbox.h). If a frame has to go ahead of
    // others then, the kernel keeps no more than `narrow_bytes` untaken, and is handed twice that at a time.
    uint32_t shipment_bytes, lagging_bytes, narrow_bytes;
    // Bytes of large bodies that a turn receives, and sends: in equal parts for all peers that have some,
    // each part between these two (struct turn_parts).
    uint32_t large_bytes, part_min, part_max;
    // Requests that end in a turn because their source has left, and likewise because their target has.
    uint32_t ends;
    // Bounds of one peer: copies of its events that another shard hasn't reported on, and its orders to the
    // registry under way. Past them a peer that has had its share is read no further.
    uint32_t copies, orders;
};

// Fills *bounds with what they are: up to 1 ms for reading, half of it for orders, and events take about as long. Larger
// parts of these don't cost less a send: what a turn touches then outgrows the cache, and who receives waits for its end.
void turn_bounds_defaults(struct turn_bounds *bounds);

// Parts of large bodies, received or sent. The more peers have a large body, the smaller the part of each.
struct turn_parts {
    uint32_t bytes; // of each, in this turn
    uint32_t taken; // in this turn
    uint32_t among; // how many are reckoned with
};

// A turn begins. How many there are is told by how many took a part in the turns before.
void turn_parts_begin(struct turn_parts *parts, const struct turn_bounds *bounds);
// Returns how many of these bytes are this turn's. A body that fits an arrival is no more work than any
// other, and counts for nobody.
static inline uint32_t turn_parts_take(struct turn_parts *parts, size_t bytes) {
    assert(parts->bytes > 0);
    parts->taken += bytes > ARRIVAL_BYTES_MAX;
    return bytes < parts->bytes ? (uint32_t)bytes : parts->bytes;
}

enum { BATCH_MEMBERS_MAX = 1 << 20 };

// Bounds that an operator may set. Bytes, counts and nanoseconds as the names say.
struct limits {
    uint32_t header_bytes_max;
    uint32_t frame_bytes_max; // of the body, which is what Content-Length counts
    uint32_t id_bytes_max;
    uint64_t queue_bytes_max;
    uint64_t memory_bytes_max;
    uint64_t journal_bytes_max; // of entries on their way to the audit journal, of all shards together
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

// How many receive buffers a shard lends to the kernel: a power of two up to RECEIVE_BUFFERS_PROVIDED, so that
// all shards' together take an eighth of the memory at most.
uint32_t limits_buffers_provided(uint64_t memory_bytes_max, uint32_t shard_count);
// The least memory for which that can be RECEIVE_BUFFERS_PROVIDED_MIN.
uint64_t limits_memory_bytes_least(uint32_t shard_count);
