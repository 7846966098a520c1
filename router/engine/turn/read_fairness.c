#include "router/engine/turn/read_fairness.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/engine/receive/receive.h"
#include "router/engine/receive/tls_receive.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/stats.h"

enum {
    PAUSE_AT = 2, // arrivals of a peer that may wait before the kernel stops receiving
    INLINE_ARRIVALS = 8,
};

// An arrival that a later turn reads, or the rest of one.
struct deferred_arrival {
    struct io_event event;
    uint32_t at; // the offset in the buffer from which on nothing was read; 0: from the begin
    bool opened; // with TLS: the buffer is plaintext, and more records may wait behind it
};

// A peer whose arrivals wait, or that has used more than its share.
struct deficit {
    struct list link; // of shard.read_fairness.new_peers or .in_deficit
    struct peer *peer;
    int64_t credit_ns;
    uint32_t fanout_passes;            // the pass in which the peer's events were last fanned out
    uint64_t fanout_bytes;             // the bytes of these events
    bool publishes;                    // the last arrival had messages to many
    struct deferred_arrival *arrivals; // a ring: `inline_arrivals`, or allocated memory
    uint32_t first, count, capacity;
    uint32_t waits_ms; // since when arrivals wait for which the peer wasn't excused; a tick
    struct deferred_arrival inline_arrivals[INLINE_ARRIVALS];
};

// --- Peers that wait

// Returns whether there is memory for deficit_of.
static bool may_note(struct shard *shard) {
    if (!shard->read_fairness.spare)
        shard->read_fairness.spare = memory_take_zeroed(1, sizeof(struct deficit));
    return shard->read_fairness.spare != NULL;
}

// Returns the peer's deficit, and makes one if there is none. Returns NULL without memory, or if the peer is closing.
static struct deficit *deficit_of(struct shard *shard, struct peer *peer) {
    struct deficit *deficit = peer->deficit;
    if (deficit || peer->connection.ending || !may_note(shard))
        return deficit;
    deficit = shard->read_fairness.spare;
    shard->read_fairness.spare = NULL;
    *deficit = (struct deficit){.peer = peer,
                                .credit_ns = (int64_t)shard->bounds.slice_ns,
                                .arrivals = deficit->inline_arrivals,
                                .capacity = INLINE_ARRIVALS};
    list_init(&deficit->link);
    list_append(&shard->read_fairness.new_peers, &deficit->link);
    shard->read_fairness.count++;
    peer->deficit = deficit;
    return deficit;
}

static void arrivals_give(struct deficit *deficit) {
    if (deficit->arrivals != deficit->inline_arrivals)
        memory_give(deficit->arrivals);
}

static void deficit_give(struct shard *shard, struct deficit *deficit) {
    assert(deficit->count == 0 && deficit->peer->deficit == deficit && shard->read_fairness.count > 0);
    list_remove(&deficit->link);
    shard->read_fairness.count--;
    deficit->peer->deficit = NULL;
    arrivals_give(deficit);
    if (shard->read_fairness.spare)
        memory_give(deficit);
    else
        shard->read_fairness.spare = deficit;
}

static bool make_room(struct deficit *deficit) {
    if (deficit->count < deficit->capacity)
        return true;
    uint32_t capacity = deficit->capacity * 2;
    struct deferred_arrival *arrivals = memory_take(capacity * sizeof *arrivals);
    if (!arrivals)
        return false;
    for (uint32_t index = 0; index < deficit->count; index++)
        arrivals[index] = deficit->arrivals[(deficit->first + index) % deficit->capacity];
    arrivals_give(deficit);
    deficit->arrivals = arrivals;
    deficit->first = 0;
    deficit->capacity = capacity;
    return true;
}

static struct deferred_arrival take_first(struct shard *shard, struct deficit *deficit) {
    assert(deficit->count > 0 && shard->read_fairness.waiting > 0);
    peer_discount_wait(shard, deficit->peer, deficit->waits_ms);
    deficit->waits_ms = shard_tick(shard);
    struct deferred_arrival first = deficit->arrivals[deficit->first];
    deficit->first = (deficit->first + 1) % deficit->capacity;
    deficit->count--;
    shard->read_fairness.waiting--;
    return first;
}

static void note_waiting(struct shard *shard, struct deficit *deficit) {
    if (!deficit->count++)
        deficit->waits_ms = shard_tick(shard);
    shard->read_fairness.waiting++;
}

// Puts the rest of an arrival back to the front. There is room, since take_first has taken it out.
static void put_back(struct shard *shard, struct deficit *deficit, const struct deferred_arrival *rest) {
    assert(deficit->count < deficit->capacity);
    deficit->first = (deficit->first + deficit->capacity - 1) % deficit->capacity;
    deficit->arrivals[deficit->first] = *rest;
    note_waiting(shard, deficit);
}

// --- Reading

// Reads an arrival. Returns whether reading was cut short; then *rest is the rest.
static bool read_arrival(struct shard *shard, struct peer *peer, const struct deferred_arrival *arrival,
                         bool cuts, struct deferred_arrival *rest) {
    assert(!shard->event_run.count);
    *rest = *arrival;
    shard->read_fairness.may_stop_between_units = cuts && arrival->event.buffer;
    if (!peer->connection.secure)
        rest->at = receive_arrival(shard, peer, &arrival->event, arrival->at);
    else if (arrival->opened)
        rest->at = tls_receive_rest(shard, peer, &rest->event, arrival->at);
    else
        rest->at = tls_receive_event(shard, peer, &rest->event);
    rest->opened = peer->connection.secure;
    shard->read_fairness.may_stop_between_units = false;
    return rest->at;
}

// Copies the rest of an arrival to a buffer of its size, so that the arrival doesn't hold a receive buffer while it
// waits. Without memory nothing changes.
static void make_small(struct shard *shard, const struct peer *peer, struct deferred_arrival *arrival) {
    struct buffer *old = arrival->event.buffer;
    uint32_t from = arrival->at ? arrival->at : RECEIVE_HEAD_BYTES;
    uint32_t end = RECEIVE_HEAD_BYTES + (uint32_t)arrival->event.result;
    if (!old || arrival->event.result <= 0)
        return;
    assert(from < end && end <= old->capacity);
    struct buffer *small = buffer_take_sized(&shard->buffers, RECEIVE_HEAD_BYTES + end - from);
    if (!small)
        return;
    memcpy(buffer_arrival(small), old->bytes + from, end - from);
    peer_erase(peer, old->bytes + from, end - from);
    buffer_drop(old);
    arrival->event.buffer = small;
    arrival->event.result = (int32_t)(end - from);
    arrival->at = arrival->at ? RECEIVE_HEAD_BYTES : 0;
}

static void take_credit(struct deficit *deficit, uint64_t ns) {
    deficit->credit_ns -= ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
}

static void note_fanout(struct shard *shard, struct deficit *deficit, uint64_t bytes) {
    deficit->publishes = bytes > 0;
    if (deficit->fanout_passes != shard->fanout_sends.passes)
        deficit->fanout_bytes = 0;
    deficit->fanout_passes = shard->fanout_sends.passes;
    deficit->fanout_bytes += bytes;
}

// Reads one arrival, and notes what it took.
static void read_one(struct shard *shard, struct peer *peer, const struct deferred_arrival *arrival) {
    uint64_t from_ns =
        shard->read_fairness.is_clock_stale ? io_clock(shard->io) : shard->read_fairness.from_ns;
    uint64_t fanout_before = shard->fanout_sends.bytes;
    struct deficit *deficit = peer->deficit;
    struct deferred_arrival rest;
    bool cuts = deficit ? make_room(deficit) : may_note(shard);
    bool cut = read_arrival(shard, peer, arrival, cuts, &rest);
    uint64_t now_ns = io_clock(shard->io), spent_ns = now_ns - from_ns;
    uint64_t fanout_bytes = shard->fanout_sends.bytes - fanout_before;
    shard->read_fairness.from_ns = now_ns;
    shard->read_fairness.is_clock_stale = false;
    if (cut || spent_ns > shard->bounds.slice_ns || fanout_bytes)
        deficit = deficit_of(shard, peer);
    if (!deficit)
        return;
    take_credit(deficit, spent_ns);
    note_fanout(shard, deficit, fanout_bytes);
    if (!cut)
        return;
    if (peer->reads_paused)
        make_small(shard, peer, &rest);
    put_back(shard, deficit, &rest);
}

static void read_all_of(struct shard *shard, struct deficit *deficit) {
    struct peer *peer = deficit->peer;
    while (deficit->count) {
        struct deferred_arrival first = take_first(shard, deficit), rest;
        read_arrival(shard, peer, &first, false, &rest);
    }
}

// Queues an arrival for a later turn. Returns false without memory.
static bool defer_arrival(struct shard *shard, struct peer *peer, const struct io_event *event) {
    struct deficit *deficit = deficit_of(shard, peer);
    if (!deficit || !make_room(deficit))
        return false;
    struct deferred_arrival *last = &deficit->arrivals[(deficit->first + deficit->count) % deficit->capacity];
    *last = (struct deferred_arrival){.event = *event};
    if (peer->reads_paused)
        make_small(shard, peer, last);
    note_waiting(shard, deficit);
    if (event->result > 0)
        peer->received_ms = shard_tick(shard);
    stats_count(&shard->stats, COUNT_ARRIVALS_PUT_OFF);
    receive_ration(shard, peer, event);
    if (peer->rationed || deficit->count == PAUSE_AT)
        connection_pause(&peer->connection, shard->io);
    return true;
}

void read_fairness_begin(struct shard *shard) {
    turn_parts_begin(&shard->read_fairness.parts, &shard->bounds);
    turn_parts_begin(&shard->sender.parts, &shard->bounds);
    shard->read_fairness.from_ns = io_now(shard->io);
    shard->read_fairness.is_clock_stale = true;
    shard->read_fairness.until_ns = shard->read_fairness.from_ns + shard->bounds.read_ns;
}

void read_fairness_handle_arrival(struct shard *shard, struct peer *peer, const struct io_event *event) {
    bool waits =
        peer->deficit || peer->reads_paused || shard->read_fairness.from_ns >= shard->read_fairness.until_ns;
    if (waits && peer->state != PEER_CLOSING && defer_arrival(shard, peer, event))
        return;
    if (peer->deficit)
        read_all_of(shard, peer->deficit);
    read_one(shard, peer, &(struct deferred_arrival){.event = *event});
}

// --- Going on

// Returns whether reading from a peer must wait. Reading waits while the peer's messages to many haven't gone out,
// while many of the peer's requests are under way, and while messages of the peer, or for the peer, wait.
static bool is_blocked(const struct shard *shard, const struct deficit *deficit) {
    if (queue_limit_pauses_reads(deficit->peer))
        return true;
    bool ahead = !list_empty(&shard->fanout_sends.waiting) &&
                 deficit->fanout_passes == shard->fanout_sends.passes &&
                 deficit->fanout_bytes >= shard->bounds.fanout_ahead_bytes;
    return ahead || (deficit->publishes && shard->events_out >= shard->bounds.copies_max) ||
           deficit->peer->admission.orders >= shard->bounds.peer_orders_max;
}

// What came of a visit.
enum visit_result {
    VISIT_BLOCKED, // the peer must wait, and was moved to the end of the list
    VISIT_DONE,    // the peer got credit, or is no longer one that waits
    VISIT_READ,    // an arrival was read
};

// Serves a peer.
static enum visit_result visit(struct shard *shard, struct deficit *deficit) {
    struct read_fairness *fairness = &shard->read_fairness;
    if (deficit->count && is_blocked(shard, deficit)) {
        list_remove(&deficit->link);
        list_append(&fairness->in_deficit, &deficit->link);
        return VISIT_BLOCKED;
    }
    if (deficit->credit_ns <= 0) {
        deficit->credit_ns += (int64_t)shard->bounds.slice_ns;
        list_remove(&deficit->link);
        list_append(&fairness->in_deficit, &deficit->link);
        return VISIT_DONE;
    }
    if (!deficit->count) {
        deficit_give(shard, deficit);
        return VISIT_DONE;
    }
    struct deferred_arrival first = take_first(shard, deficit);
    read_one(shard, deficit->peer, &first);
    return VISIT_READ;
}

static struct deficit *next_of(struct read_fairness *fairness) {
    struct list *from = list_empty(&fairness->new_peers) ? &fairness->in_deficit : &fairness->new_peers;
    return list_empty(from) ? NULL : list_entry(from->next, struct deficit, link);
}

static bool begin_to_serve(struct shard *shard) {
    struct read_fairness *fairness = &shard->read_fairness;
    if (!fairness->count)
        return false;
    // Parcels for peers that wait for little go out first.
    fairness->skipped_last_turn = !fairness->skipped_last_turn && !list_empty(&shard->to_send);
    if (fairness->skipped_last_turn)
        return false;
    fairness->from_ns = io_clock(shard->io);
    fairness->until_ns = fairness->from_ns + shard->bounds.read_ns / 2;
    fairness->is_serving = true;
    return true;
}

bool read_fairness_serve_next(struct shard *shard) {
    struct read_fairness *fairness = &shard->read_fairness;
    if (!fairness->is_serving && !begin_to_serve(shard))
        return false;
    fairness->is_clock_stale = true;
    assert(!fairness->count == (list_empty(&fairness->new_peers) && list_empty(&fairness->in_deficit)));
    uint32_t idle = 0, all = fairness->count;
    for (struct deficit *next;
         idle < all && fairness->from_ns < fairness->until_ns && (next = next_of(fairness));) {
        enum visit_result result = visit(shard, next);
        if (result == VISIT_READ)
            return true;
        idle = result == VISIT_BLOCKED ? idle + 1 : 0;
    }
    fairness->is_serving = false;
    return false;
}

void read_fairness_update_buffers(struct shard *shard) {
    struct read_fairness *fairness = &shard->read_fairness;
    bool reduced = fairness->waiting >= shard_buffers_now(shard);
    if (reduced == fairness->buffers_reduced)
        return;
    fairness->buffers_reduced = reduced;
    io_provide_buffers(shard->io, shard_buffers_now(shard));
}

bool read_fairness_is_ready(const struct shard *shard) {
    if (!shard->read_fairness.waiting)
        return false;
    for (const struct list *node = shard->read_fairness.new_peers.next;
         node != &shard->read_fairness.new_peers; node = node->next)
        if (list_entry(node, struct deficit, link)->count)
            return true;
    for (const struct list *node = shard->read_fairness.in_deficit.next;
         node != &shard->read_fairness.in_deficit; node = node->next) {
        const struct deficit *deficit = list_entry(node, struct deficit, link);
        if (deficit->count && !is_blocked(shard, deficit))
            return true;
    }
    return false;
}

bool read_fairness_has_queued(const struct peer *peer) {
    return peer->deficit && peer->deficit->count;
}

void read_fairness_read_all(struct shard *shard, struct peer *peer) {
    assert(read_fairness_has_queued(peer) && !shard->event_run.count);
    read_all_of(shard, peer->deficit);
}

void read_fairness_resume_peer(struct shard *shard, struct peer *peer) {
    if (!read_fairness_has_queued(peer))
        receive_go_on(shard, peer);
}

uint64_t read_fairness_charge(struct shard *shard, uint64_t connection, uint64_t from_ns) {
    uint64_t now_ns = io_clock(shard->io), spent_ns = now_ns - from_ns;
    bool here = connection_shard(connection) == shard->index;
    struct peer *peer = here ? peer_find(shard, connection) : NULL;
    bool owes = peer && (peer->deficit || spent_ns > shard->bounds.slice_ns);
    struct deficit *deficit = owes ? deficit_of(shard, peer) : NULL;
    if (deficit)
        take_credit(deficit, spent_ns);
    return now_ns;
}

void read_fairness_drop_peer(struct shard *shard, struct peer *peer) {
    struct deficit *deficit = peer->deficit;
    assert(peer->state == PEER_CLOSING && peer->connection.ending);
    if (!deficit)
        return;
    read_all_of(shard, deficit);
    deficit_give(shard, deficit);
}
