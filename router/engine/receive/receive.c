#include "router/engine/receive/receive.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "router/engine/receive/reassembly.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/probe.h"
#include "router/events/events.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

// --- The unit that is coming in

static inline enum unit_result receive_scan_once(struct shard *shard, struct peer *peer, uint8_t *bytes,
                                                 uint32_t count) {
    return peer->transport->codec.wire->scan(&peer->unit, bytes, count, identity_limits(shard, peer));
}

// Follows a result that isn't UNIT_WHOLE: a unit may be judged by its beginning, bytes aside are answered,
// and the scanner goes on behind them.
static enum unit_result receive_scan_behind(struct shard *shard, struct peer *peer, uint8_t *bytes,
                                            uint32_t count, enum unit_result result) {
    assert(peer->state == PEER_OPEN && result != UNIT_WHOLE);
    for (;; result = receive_scan_once(shard, peer, bytes, count)) {
        if (result < UNIT_BAD && result != UNIT_WHOLE && !identity_admits(shard, peer, bytes))
            return peer->state == PEER_OPEN ? UNIT_BAD : UNIT_OPEN;
        if (result != UNIT_CONTROL)
            return result;
        peer->transport->codec.take_control(shard, peer, bytes);
        if (peer->state != PEER_OPEN)
            return UNIT_OPEN;
    }
}

// Scans the bytes of the unit that have come, from its first byte. Returns UNIT_OPEN also if the peer isn't open any
// more.
static inline enum unit_result receive_scan_unit(struct shard *shard, struct peer *peer, uint8_t *bytes,
                                                 uint32_t count) {
    enum unit_result result = receive_scan_once(shard, peer, bytes, count);
    return result == UNIT_WHOLE ? result : receive_scan_behind(shard, peer, bytes, count, result);
}

// --- Framing errors

// Answers the fault of the frame that is coming in. Parcels that are queued by now still come before that,
// nothing comes after it.
static void receive_refuse(struct shard *shard, struct peer *peer) {
    enum unit_fault fault = peer->unit.fault;
    assert(peer->state == PEER_OPEN && fault != UNIT_FAULT_NONE);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", unit_fault_text(fault));
    reply_data_number(&data, "offset", peer->unit.fault_at);
    if (fault == UNIT_FAULT_HEADER_TOO_LARGE)
        reply_data_number(&data, "limit", identity_limits(shard, peer)->header_bytes_max);
    if (fault == UNIT_FAULT_BODY_TOO_LARGE)
        reply_data_number(&data, "limit", identity_limits(shard, peer)->body_bytes_max);
    send_missed_before_end(shard, peer);
    reply_error(shard, peer, (struct reply_to){0},
                unit_fault_is_limit(fault) ? ERROR_FRAME_TOO_LARGE : ERROR_PARSE, &data);
    peer_silence(shard, peer);
}

static void report_fault(struct shard *shard, struct peer *peer, uint8_t *bytes, uint32_t count) {
    shard->fault_bytes = bytes;
    shard->fault_count = count;
    if (peer->transport->codec.refuse)
        peer->transport->codec.refuse(shard, peer);
    else
        receive_refuse(shard, peer);
    assert(peer->state != PEER_OPEN || peer->unit.skipped);
}

static void refuse_framing(struct shard *shard, struct peer *peer, uint8_t *bytes, uint32_t count) {
    stats_count(&shard->stats, COUNT_FRAMING_ERRORS);
    report_fault(shard, peer, bytes, count);
}

void receive_overload(struct shard *shard, struct peer *peer) {
    if (peer_end_own(shard, peer, PEER_END_NO_MEMORY))
        stats_count(&shard->stats, COUNT_CLOSED_NO_MEMORY);
    else
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    assert(peer->state != PEER_OPEN);
}

// --- Frames of which the end has not come

// Returns how many of `count` bytes may be taken in before the scanner must look: all that the unit lacks,
// or, as long as its length isn't known, as many as it may have until then.
static uint32_t wanted(const struct shard *shard, const struct peer *peer, uint32_t count) {
    uint32_t whole = peer->unit.length_known
                         ? peer->unit.bytes
                         : peer->transport->codec.wire->open_max(identity_limits(shard, peer));
    assert(peer->partial_bytes < whole || !peer->unit.length_known);
    uint32_t lacking = whole > peer->partial_bytes ? whole - peer->partial_bytes : 1; // a limit was lowered
    return count < lacking ? count : lacking;
}

static void hand_on_message(struct shard *shard, struct peer *peer, struct frame *frame) {
    PROBE(frame, peer->connection_id, peer->unit.bytes, peer->unit.body_bytes > RECEIVE_BUFFER_BYTES);
    stats_count(&shard->stats, COUNT_FRAMES_RECEIVED);
    route_frame(shard, peer, frame, NULL);
}

// Hands a whole unit on. An empty unit is ignored.
static void hand_on(struct shard *shard, struct peer *peer, struct buffer *buffer, uint32_t at) {
    struct frame frame = frame_at(buffer, at, &peer->unit);
    uint32_t end = peer->unit.body_at + peer->unit.body_bytes;
    if (peer->transport->codec.wire->has_gaps &&
        end < peer->unit.bytes) // copies of bytes that were moved forward
        peer_erase(peer, buffer->bytes + at + end, peer->unit.bytes - end);
    bool is_nothing = !peer->unit.body_bytes && !peer->unit.counts_without_body;
    assert(peer->state == PEER_OPEN && at + peer->unit.bytes <= buffer->capacity);
    if (!is_nothing && peer->transport->codec.take)
        peer->transport->codec.take(shard, peer, &frame);
    else if (!is_nothing)
        hand_on_message(shard, peer, &frame);
    unit_begin(&peer->unit);
    peer->frames++;
}

// The partial frame has more bytes now, and the scanner has looked at them.
static void partial_grown(struct shard *shard, struct peer *peer, enum unit_result result) {
    if (result == UNIT_BAD)
        refuse_framing(shard, peer, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    if (result != UNIT_WHOLE)
        return;
    struct buffer *whole = peer->partial;
    assert(peer->partial_bytes == peer->unit.bytes);
    peer->partial = NULL;
    peer->partial_bytes = 0;
    hand_on(shard, peer, whole, peer->partial_at);
    buffer_drop(whole);
}

static enum unit_result scan_partial(struct shard *shard, struct peer *peer) {
    assert(reassembly_has_room(peer, peer->partial_bytes));
    enum unit_result result =
        receive_scan_unit(shard, peer, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    if (result == UNIT_OPEN && peer->transport->codec.wire->has_gaps)
        reassembly_close_gap(peer);
    return result;
}

// Takes bytes in as the rest of the partial frame, or as the begin of one; returns how many, 0 when the peer
// was closed.
static uint32_t partial_append(struct shard *shard, struct peer *peer, uint8_t *bytes, uint32_t count) {
    count = wanted(shard, peer, count);
    if (!reassembly_find_room(shard, peer, peer->partial_bytes + count)) {
        receive_overload(shard, peer);
        return 0;
    }
    assert(reassembly_has_room(peer, peer->partial_bytes + count));
    memcpy(peer->partial->bytes + peer->partial_at + peer->partial_bytes, bytes, count);
    peer->partial_bytes += count;
    enum unit_result result = scan_partial(shard, peer);
    // While the header block wasn't whole, more may have been taken than belongs to this frame.
    if (result == UNIT_WHOLE && peer->partial_bytes > peer->unit.bytes) {
        count -= peer->partial_bytes - peer->unit.bytes;
        reassembly_cut(peer, peer->unit.bytes);
    }
    partial_grown(shard, peer, result);
    if (peer->unit.skipped)
        count -= reassembly_skip_here(peer);
    return count;
}

// Takes bytes in that aren't read where they lie, and wipes them there; returns how many, as partial_append.
static uint32_t partial_append_and_wipe(struct shard *shard, struct peer *peer, uint8_t *bytes,
                                        uint32_t count) {
    uint32_t taken =
        peer->unit.skipped ? reassembly_skip(peer, bytes, count) : partial_append(shard, peer, bytes, count);
    peer_erase(peer, bytes, taken);
    return taken;
}

// --- Frames that lie in two arrivals

// Returns whether the frame's end is what should move, when it comes: as much as is there is worth the room that the
// buffer takes meanwhile.
static bool should_stay(const struct shard *shard, const struct peer *peer, const struct buffer *buffer,
                        uint32_t at, uint32_t end) {
    return end - at > RECEIVE_HEAD_BYTES && peer->unit.length_known &&
           peer->unit.bytes <= buffer->capacity - at && !buffer_budget_tight(shard->buffers.budget);
}

// Makes room to move the unit out of the receive buffer. Returns false if the unit must stay there until there is
// memory. Returns true also if the unit can't stay: then partial_append closes the peer without memory.
static bool make_room_outside(struct shard *shard, struct peer *peer, const struct buffer *buffer,
                              uint32_t at, uint32_t end) {
    uint32_t bytes = end - at, lacking = peer->unit.length_known ? peer->unit.bytes : bytes + 1;
    bool may_stay = lacking <= buffer->capacity - at || reassembly_may_wait(shard, peer, bytes);
    return !may_stay || reassembly_make_room(shard, peer, wanted(shard, peer, bytes));
}

static void stay(const struct shard *shard, struct peer *peer, struct buffer *buffer, uint32_t at,
                 uint32_t end) {
    assert(!peer->partial && at < end && end <= buffer->capacity);
    buffer_hold(buffer);
    peer->partial_ms = shard_tick(shard);
    peer->partial = buffer;
    peer->partial_at = at;
    peer->partial_bytes = end - at;
}

// --- Arrivals

// Takes the bytes from `at` to `end`, which begin with the unit that is coming in. Returns how many bytes were taken.
static uint32_t receive_unit(struct shard *shard, struct peer *peer, struct buffer *buffer, uint32_t at,
                             uint32_t end) {
    enum unit_result result = receive_scan_unit(shard, peer, buffer->bytes + at, end - at);
    uint32_t bytes = peer->unit.bytes;
    if (peer->state != PEER_OPEN)
        return 0;
    if (result == UNIT_WHOLE) {
        hand_on(shard, peer, buffer, at);
        return bytes;
    }
    if (result == UNIT_BAD) {
        refuse_framing(shard, peer, buffer->bytes + at, end - at);
        return 0;
    }
    if (!should_stay(shard, peer, buffer, at, end) && make_room_outside(shard, peer, buffer, at, end))
        return partial_append_and_wipe(shard, peer, buffer->bytes + at, end - at);
    stay(shard, peer, buffer, at, end);
    return end - at;
}

// The clock is read once in so many frames of a peer.
enum { FRAMES_A_CLOCK = 64 };

// Returns whether the rest of an arrival is read in a later turn. Reads the clock only now and then, and after a
// message to many.
static bool should_cut(struct shard *shard, const struct peer *peer) {
    struct read_fairness *fairness = &shard->read_fairness;
    if (!fairness->may_stop_between_units || peer->partial || peer->unit.skipped || shard->event_run.count ||
        (!fairness->had_fanout && !peer->reads_paused && peer->frames % FRAMES_A_CLOCK))
        return false;
    fairness->had_fanout = false;
    return peer->reads_paused || io_clock(shard->io) >= fairness->until_ns;
}

// Reads a buffer. Returns the offset where reading was cut short; 0: all was read.
static uint32_t receive_buffer(struct shard *shard, struct peer *peer, struct buffer *buffer, uint32_t at,
                               uint32_t end) {
    uint32_t from = at;
    assert(at < end && end - at <= ARRIVAL_BYTES_MAX);
    if (reassembly_should_prepend(peer, end - at))
        at = reassembly_prepend(peer, buffer, at);
    while (at < end && peer->state == PEER_OPEN) {
        if (at > from && should_cut(shard, peer))
            return at;
        bool is_read_here = !peer->partial && !peer->unit.skipped;
        at += is_read_here ? receive_unit(shard, peer, buffer, at, end)
                           : partial_append_and_wipe(shard, peer, buffer->bytes + at, end - at);
    }
    peer_erase(peer, buffer->bytes + at, end - at); // bytes that the hub won't read
    events_flush(shard);
    return 0;
}

static uint32_t receive_bytes(struct shard *shard, struct peer *peer, const struct io_event *event,
                              uint32_t at) {
    uint32_t count = (uint32_t)event->result, frames = peer->frames, cut = 0;
    bool had_partial = peer->partial != NULL;
    if (!at) {
        PROBE(receive, peer->connection_id, count, !event->buffer);
        stats_add(&shard->stats, COUNT_BYTES_RECEIVED, count);
    }
    peer->received_ms = shard_tick(shard);
    const struct identity *identity = identity_of(peer);
    if (__builtin_expect(identity && !identity->is_peer_credential_checked, false))
        peer_credential_attach(shard, peer);
    if (event->buffer) {
        cut = receive_buffer(shard, peer, event->buffer, at ? at : RECEIVE_HEAD_BYTES,
                             RECEIVE_HEAD_BYTES + count);
    } else if (peer->state == PEER_OPEN) {
        assert(peer->unit.length_known && reassembly_has_room(peer, peer->partial_bytes + count));
        peer->partial_bytes += count;
        partial_grown(shard, peer, scan_partial(shard, peer));
        events_flush(shard);
    }
    if (peer->partial ? !had_partial || frames != peer->frames : had_partial)
        peer_timer_restart(shard, peer);
    return cut;
}

// Says where the next part of a large frame is wanted. The frame's memory may still be that for a part of its
// header block.
static void want_rest(struct shard *shard, struct peer *peer) {
    uint32_t lacking = 0;
    if (peer->state == PEER_OPEN && peer->partial && peer->unit.length_known)
        lacking = peer->unit.bytes - peer->partial_bytes;
    bool direct = lacking > ARRIVAL_BYTES_MAX ||
                  (lacking && peer->connection.receiving == RECEIVING_NOTHING && peer->connection.large);
    if ((direct || peer_lacks_room(peer)) && !reassembly_make_room_for_rest(shard, peer)) {
        if (!reassembly_may_wait(shard, peer, peer->partial_bytes + 1))
            receive_overload(shard, peer);
        direct = false;
    }
    assert(!direct || reassembly_has_room(peer, peer->unit.bytes));
    connection_want(&peer->connection,
                    direct ? peer->partial->bytes + peer->partial_at + peer->partial_bytes : NULL,
                    direct ? turn_parts_take(&shard->read_fairness.parts, lacking) : 0);
}

static void starve(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_CLOSING);
    if (!list_empty(&peer->by_receive_wait) && !receive_is_queued(peer))
        return;
    stats_count(&shard->stats, COUNT_RECEIVE_STARVED);
    peer->rationed = true;
    peer->queued = false;
    list_remove(&peer->by_receive_wait);
    list_append(&shard->starved, &peer->by_receive_wait);
}

// --- Receives in turn
//
// All peers share the buffers that the kernel has in a turn. A peer that sends more than the hub reads would take
// several of them in each turn, and other peers would find none. While buffers are short, such a peer is therefore
// rationed: it is received one arrival at a time. If that arrival was full, the peer queues for its next receive. A
// peer that sends little doesn't queue.

// Returns whether buffers are short: peers wait for one, or as many arrivals wait to be read as a turn has buffers.
static bool buffers_are_short(const struct shard *shard) {
    return !list_empty(&shard->starved) || !list_empty(&shard->receive_queue) ||
           shard->read_fairness.buffers_reduced;
}

bool receive_is_queued(const struct peer *peer) {
    return peer->queued && !list_empty(&peer->by_receive_wait);
}

void receive_ration(struct shard *shard, struct peer *peer, const struct io_event *event) {
    if (event->result > 0 && !receive_is_queued(peer))
        peer->rationed = event->result >= ARRIVAL_BYTES_MAX && event->buffer && buffers_are_short(shard);
}

void receive_queue(struct shard *shard, struct peer *peer, const struct io_event *event) {
    receive_ration(shard, peer, event);
    if (event->result <= 0 || !peer->rationed || peer->state == PEER_CLOSING ||
        !list_empty(&peer->by_receive_wait))
        return;
    peer->queued = true;
    list_append(&shard->receive_queue, &peer->by_receive_wait);
    connection_pause(&peer->connection, shard->io);
}

static enum buffer_mode buffer_mode_of(const struct shard *shard, const struct peer *peer) {
    enum buffer_mode mode = shard->settings->users ? identity_buffer_mode(shard, peer) : BUFFER_MODE_MANY;
    return mode == BUFFER_MODE_MANY && peer->rationed ? BUFFER_MODE_ONE : mode;
}

void receive_go_on(struct shard *shard, struct peer *peer) {
    bool starves = peer->state == PEER_OPEN && peer_lacks_room(peer);
    if (peer->state == PEER_CLOSING)
        return;
    peer->connection.buffer_mode = buffer_mode_of(shard, peer);
    if (starves || identity_unread(peer) || receive_is_queued(peer))
        connection_pause(&peer->connection, shard->io);
    else
        connection_receive(&peer->connection, shard->io);
    if (starves)
        starve(shard, peer);
}

static void forget_unless_direct(struct peer *peer) {
    if (peer->connection.receiving != RECEIVING_DIRECT)
        peer_drop_partial(peer);
}

// A receive straight into the frame comes to its end first.
void receive_cut_off(struct shard *shard, struct peer *peer, enum counter counter) {
    assert(peer->partial && !peer->unit.fault);
    peer->unit.fault = UNIT_FAULT_LATE;
    peer->unit.fault_at = peer->partial_bytes;
    stats_count(&shard->stats, counter);
    report_fault(shard, peer, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    connection_want(&peer->connection, NULL, 0);
    if (peer->connection.receiving == RECEIVING_DIRECT)
        connection_pause(&peer->connection, shard->io);
    forget_unless_direct(peer);
}

// Ends the stream's last unit, which may have no end of its own.
static void end_unit(struct shard *shard, struct peer *peer) {
    const struct wire *wire = peer->transport->codec.wire;
    if (peer->state != PEER_OPEN || !peer->partial || peer->unit.length_known || !wire->end)
        return;
    enum unit_result result =
        wire->end(&peer->unit, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    partial_grown(shard, peer, result);
    events_flush(shard);
}

// Handles the end of the peer's stream. All bytes before it have been read.
static void receive_end(struct shard *shard, struct peer *peer, const struct io_event *event) {
    if (event->result == 0)
        end_unit(shard, peer);
    bool leaves = shard->settings->half_close_leaves || peer->transport->end_is_leaving ||
                  (peer->cold && peer->cold->end_detaches);
    // The peer may be in ENDED before its stream ends: HTTP reads nothing behind a last request.
    bool left = leaves && (peer->state == PEER_OPEN || peer->state == PEER_ENDED);
    if (left || event->result < 0 || io_is_peer_gone(shard->io, peer->connection.socket))
        peer_close(shard, peer, COUNTER_NONE);
    else
        peer_ended(shard, peer);
    peer_drop_partial(peer);
    if (peer->state != PEER_CLOSING)
        connection_watch(&peer->connection, shard->io);
}

// Handles a watched peer, which can't be answered any more.
void receive_watched(struct shard *shard, struct peer *peer, const struct io_event *event) {
    assert(peer->connection.ended && peer->connection.watching);
    if (connection_watched(&peer->connection, shard->io, event))
        peer_close(shard, peer, COUNTER_NONE);
}

uint32_t receive_arrival(struct shard *shard, struct peer *peer, const struct io_event *event, uint32_t at) {
    uint32_t cut = 0;
    assert(!at || event->result > 0);
    // Only the begin of an arrival tells of the receive itself; the rest was received with it.
    bool brings = at || connection_received(&peer->connection, event);
    if (brings && !peer->connection.ending)
        cut = receive_bytes(shard, peer, event, at);
    if (cut) {
        assert(!peer->partial);
        connection_want(&peer->connection, NULL, 0);
        return cut;
    }
    receive_queue(shard, peer, event);
    buffer_drop(event->buffer);
    if (peer->state != PEER_OPEN)
        forget_unless_direct(peer);
    want_rest(shard, peer);
    if (event->result == -ENOBUFS && peer->state != PEER_CLOSING)
        starve(shard, peer);
    else if (peer->connection.ended)
        receive_end(shard, peer, event);
    else
        receive_go_on(shard, peer);
    return 0;
}

// Arms the receive of a peer that waited. Returns false if the peer goes on waiting, for memory.
static bool arm_again(struct shard *shard, struct peer *peer) {
    want_rest(shard, peer);
    receive_go_on(shard, peer);
    return list_empty(&peer->by_receive_wait);
}

// Resumes peers in shard.starved: all that wait for memory, and of the others the first `most`. The rest keep their
// order. Returns how many more may be resumed.
static uint32_t resume_starved(struct shard *shard, uint32_t most) {
    struct list waited;
    list_init(&waited);
    for (struct list *node; (node = list_take(&shard->starved));)
        list_append(&waited, node);
    for (struct list *node; (node = list_take(&waited));) {
        struct peer *peer = list_entry(node, struct peer, by_receive_wait);
        if (most == 0 && !peer_lacks_room(peer))
            list_append(&shard->starved, node);
        else if (arm_again(shard, peer) && most > 0)
            most--;
    }
    return most;
}

static void resume_queued(struct shard *shard, uint32_t most) {
    for (struct list *node; most > 0 && (node = list_take(&shard->receive_queue)); most--) {
        struct peer *peer = list_entry(node, struct peer, by_receive_wait);
        peer->queued = false;
        peer_discount_wait(shard, peer, peer->received_ms); // the peer queues since its last arrival
        arm_again(shard, peer);
    }
}

void receive_resume(struct shard *shard) {
    shard->receives_due = false;
    if ((list_empty(&shard->starved) && list_empty(&shard->receive_queue)) ||
        !buffer_pool_can_take(&shard->buffers))
        return;
    uint32_t left = resume_starved(shard, shard_buffers_now(shard)), waiting = shard->read_fairness.waiting;
    // Peers that don't queue may need buffers, too, so the queue gets half of what is left. One peer of the queue is
    // always resumed, so that the queue moves.
    resume_queued(shard, left > waiting + 2 ? (left - waiting) / 2 : 1);
    shard->receives_due = !list_empty(&shard->receive_queue) || (left == 0 && !list_empty(&shard->starved));
}

void receive_switch(struct shard *shard, struct peer *peer, const struct transport *transport) {
    assert(!peer->partial);
    outbox_seal(&peer->connection.outbox);
    peer_speaks(shard, peer, transport);
}
