#include "router/transport/feed.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "router/route/events.h"
#include "router/route/route.h"
#include "router/send/reply.h"
#include "router/send/send.h"
#include "router/shard/probe.h"
#include "router/transport/partial.h"

// --- Framing errors

// Says what is wrong with the frame that is coming in. What is queued by now still comes before that, nothing
// comes after it.
static void feed_refuse(struct shard *shard, struct peer *peer) {
    enum unit_fault fault = peer->unit.fault;
    assert(peer->state == PEER_OPEN && fault != UNIT_FAULT_NONE);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", unit_fault_text(fault));
    reply_data_number(&data, "offset", peer->unit.fault_at);
    if (fault == UNIT_FAULT_HEADER_TOO_LARGE)
        reply_data_number(&data, "limit", shard->unit_limits.header_bytes_max);
    if (fault == UNIT_FAULT_BODY_TOO_LARGE)
        reply_data_number(&data, "limit", shard->unit_limits.body_bytes_max);
    send_missed_before_end(shard, peer);
    reply_error(shard, peer, (struct reply_to){0},
                unit_fault_is_limit(fault) ? ERROR_FRAME_TOO_LARGE : ERROR_PARSE, &data);
    peer_silence(shard, peer);
}

static void refuse_framing(struct shard *shard, struct peer *peer) {
    stats_count(&shard->stats, COUNT_FRAMING_ERRORS);
    feed_refuse(shard, peer);
}

// --- Frames of which the end has not come

// How many of `count` bytes may be taken in before the scanner must look: all that the unit lacks, or, as long
// as its length isn't known, as many as it may have until then.
static uint32_t wanted(const struct shard *shard, const struct peer *peer, uint32_t count) {
    uint32_t whole =
        peer->unit.sized ? peer->unit.bytes : peer->transport->wire->open_max(&shard->unit_limits);
    assert(peer->partial_bytes < whole || !peer->unit.sized);
    uint32_t lacking = whole > peer->partial_bytes ? whole - peer->partial_bytes : 1; // a limit was lowered
    return count < lacking ? count : lacking;
}

static void hand_on_message(struct shard *shard, struct peer *peer, const struct frame *frame) {
    PROBE(frame, peer->name, peer->unit.bytes, peer->unit.body_bytes > RECEIVE_BUFFER_BYTES);
    stats_count(&shard->stats, COUNT_FRAMES_RECEIVED);
    route_frame(shard, peer, frame);
}

// A unit with nothing in it is none.
static void hand_on(struct shard *shard, struct peer *peer, struct buffer *buffer, uint32_t at) {
    struct frame frame = frame_at(buffer, at, &peer->unit);
    assert(peer->state == PEER_OPEN && at + peer->unit.bytes <= buffer->capacity);
    if (peer->unit.body_bytes && peer->transport->take)
        peer->transport->take(shard, peer, &frame);
    else if (peer->unit.body_bytes)
        hand_on_message(shard, peer, &frame);
    unit_begin(&peer->unit);
    peer->frames++;
}

// The partial frame has more bytes now, and the scanner has looked at them.
static void partial_grown(struct shard *shard, struct peer *peer, enum unit_result result) {
    if (result == UNIT_BAD)
        refuse_framing(shard, peer);
    if (result != UNIT_WHOLE)
        return;
    struct buffer *whole = peer->partial;
    assert(peer->partial_bytes == peer->unit.bytes);
    peer->partial = NULL;
    peer->partial_bytes = 0;
    hand_on(shard, peer, whole, peer->partial_at);
    buffer_drop(whole);
}

static enum unit_result scan_partial(const struct shard *shard, struct peer *peer) {
    assert(partial_has_room(peer, peer->partial_bytes));
    return peer->transport->wire->scan(&peer->unit, peer->partial->bytes + peer->partial_at,
                                       peer->partial_bytes, &shard->unit_limits);
}

// Takes bytes in as the rest of the partial frame, or as the begin of one; returns how many, 0 when the peer
// was closed.
static uint32_t take_in(struct shard *shard, struct peer *peer, const uint8_t *bytes, uint32_t count) {
    count = wanted(shard, peer, count);
    if (!partial_make_room(shard, peer, peer->partial_bytes + count)) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return 0;
    }
    assert(partial_has_room(peer, peer->partial_bytes + count));
    memcpy(peer->partial->bytes + peer->partial_at + peer->partial_bytes, bytes, count);
    peer->partial_bytes += count;
    enum unit_result result = scan_partial(shard, peer);
    // While the header block wasn't whole, more may have been taken than belongs to this frame.
    if (result == UNIT_WHOLE && peer->partial_bytes > peer->unit.bytes) {
        count -= peer->partial_bytes - peer->unit.bytes;
        peer->partial_bytes = peer->unit.bytes;
    }
    partial_grown(shard, peer, result);
    return count;
}

// --- Frames that lie in two arrivals

// The later part lies at `from`, in room that has the earlier one's size before it.
static uint32_t prepend(struct peer *peer, struct buffer *buffer, uint32_t from) {
    assert(from >= peer->partial_bytes && buffer != peer->partial);
    uint32_t at = from - peer->partial_bytes;
    memcpy(buffer->bytes + at, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    buffer_drop(peer->partial);
    peer->partial = NULL;
    peer->partial_bytes = 0;
    return at;
}

// Whether the frame's begin is what should move: it is small, and the rest has come, or all that comes may be
// the rest.
static bool should_prepend(const struct peer *peer, uint32_t count) {
    if (!peer->partial || peer->partial_bytes > RECEIVE_HEAD_BYTES)
        return false;
    if (!peer->unit.sized)
        return peer->transport->wire->opens_with_body;
    uint32_t lacking = peer->unit.bytes - peer->partial_bytes;
    return peer->partial_bytes <= lacking && lacking <= count;
}

// Whether the frame's end is what should move, when it comes: as much as is there is worth the room that the
// buffer takes meanwhile.
static bool should_stay(const struct shard *shard, const struct peer *peer, const struct buffer *buffer,
                        uint32_t at, uint32_t end) {
    return end - at > RECEIVE_HEAD_BYTES && peer->unit.sized && peer->unit.bytes <= buffer->capacity - at &&
           !buffer_budget_tight(shard->buffers.budget);
}

// Whether it must stay, because there is no memory to move to: the buffer's is there. A frame that is larger
// than the buffer waits for its own.
static bool must_stay(struct shard *shard, struct peer *peer, const struct buffer *buffer, uint32_t at,
                      uint32_t end) {
    uint32_t bytes = end - at, lacking = peer->unit.sized ? peer->unit.bytes : bytes + 1;
    bool can = lacking <= buffer->capacity - at || partial_may_wait(shard, peer, bytes);
    return can && !partial_make_room(shard, peer, wanted(shard, peer, bytes));
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

static void feed_buffer(struct shard *shard, struct peer *peer, struct buffer *buffer, uint32_t count) {
    uint32_t at = RECEIVE_HEAD_BYTES, end = at + count;
    assert(count > 0 && count <= ARRIVAL_BYTES_MAX);
    if (should_prepend(peer, count))
        at = prepend(peer, buffer, at);
    while (at < end && peer->state == PEER_OPEN) {
        if (peer->partial) {
            at += take_in(shard, peer, buffer->bytes + at, end - at);
            continue;
        }
        switch (peer->transport->wire->scan(&peer->unit, buffer->bytes + at, end - at, &shard->unit_limits)) {
        case UNIT_WHOLE: {
            uint32_t bytes = peer->unit.bytes;
            hand_on(shard, peer, buffer, at);
            at += bytes;
            break;
        }
        case UNIT_OPEN:
        case UNIT_PARTIAL:
            if (should_stay(shard, peer, buffer, at, end) || must_stay(shard, peer, buffer, at, end)) {
                stay(shard, peer, buffer, at, end);
                at = end;
            } else {
                at += take_in(shard, peer, buffer->bytes + at, end - at);
            }
            break;
        case UNIT_BAD:
            refuse_framing(shard, peer);
            break;
        }
    }
    events_flush(shard);
}

static void feed_bytes(struct shard *shard, struct peer *peer, const struct io_event *event) {
    uint32_t count = (uint32_t)event->result;
    bool had_partial = peer->partial != NULL;
    uint32_t frames = peer->frames;
    PROBE(receive, peer->name, count, !event->buffer);
    stats_add(&shard->stats, COUNT_BYTES_RECEIVED, count);
    peer->heard_ms = shard_tick(shard);
    if (event->buffer) {
        feed_buffer(shard, peer, event->buffer, count);
    } else if (peer->state == PEER_OPEN) {
        assert(peer->unit.sized && partial_has_room(peer, peer->partial_bytes + count));
        peer->partial_bytes += count;
        partial_grown(shard, peer, scan_partial(shard, peer));
        events_flush(shard);
    }
    if (peer->partial ? !had_partial || frames != peer->frames : had_partial)
        peer_watch(shard, peer);
}

// Says where the rest of a large frame is wanted. Its memory may still be what was enough for a part of its
// header block.
static void want_rest(struct shard *shard, struct peer *peer) {
    uint32_t lacking = 0;
    if (peer->state == PEER_OPEN && peer->partial && peer->unit.sized)
        lacking = peer->unit.bytes - peer->partial_bytes;
    bool direct = lacking > ARRIVAL_BYTES_MAX ||
                  (lacking && peer->connection.receiving == RECEIVING_NOTHING && peer->connection.large);
    if ((direct || peer_lacks_room(peer)) && !partial_make_room_for_rest(shard, peer)) {
        if (!partial_may_wait(shard, peer, peer->partial_bytes + 1))
            peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        direct = false;
    }
    assert(!direct || partial_has_room(peer, peer->unit.bytes));
    connection_want(&peer->connection,
                    direct ? peer->partial->bytes + peer->partial_at + peer->partial_bytes : NULL,
                    direct ? lacking : 0);
}

static void starve(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_CLOSING);
    if (!list_empty(&peer->starved))
        return;
    stats_count(&shard->stats, COUNT_RECEIVE_STARVED);
    list_append(&shard->starved, &peer->starved);
}

static void go_on(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_CLOSING)
        return;
    if (peer->state == PEER_OPEN && peer_lacks_room(peer)) {
        connection_pause(&peer->connection, shard->io);
        starve(shard, peer);
        return;
    }
    connection_receive(&peer->connection, shard->io);
}

static void forget_unless_direct(struct peer *peer) {
    if (peer->connection.receiving != RECEIVING_DIRECT)
        partial_forget(peer);
}

// What is received straight into the frame comes to its end first.
void feed_cut_off(struct shard *shard, struct peer *peer) {
    assert(peer->partial && !peer->unit.fault);
    peer->unit.fault = UNIT_FAULT_LATE;
    peer->unit.fault_at = peer->partial_bytes;
    stats_count(&shard->stats, COUNT_CLOSED_SLOW_SENDER);
    feed_refuse(shard, peer);
    connection_want(&peer->connection, NULL, 0);
    if (peer->connection.receiving == RECEIVING_DIRECT)
        connection_pause(&peer->connection, shard->io);
    forget_unless_direct(peer);
}

// What it sent last may be a unit without its end.
static void end_unit(struct shard *shard, struct peer *peer) {
    const struct wire *wire = peer->transport->wire;
    if (peer->state != PEER_OPEN || !peer->partial || peer->unit.sized || !wire->end)
        return;
    enum unit_result result =
        wire->end(&peer->unit, peer->partial->bytes + peer->partial_at, peer->partial_bytes);
    partial_grown(shard, peer, result);
    events_flush(shard);
}

// All that it has sent before has been read by now.
static void feed_end(struct shard *shard, struct peer *peer, const struct io_event *event) {
    if (event->result == 0)
        end_unit(shard, peer);
    bool left = peer->state == PEER_OPEN && shard->settings->half_close_leaves;
    if (left || event->result < 0 || io_peer_gone(shard->io, peer->connection.socket))
        peer_close(shard, peer, COUNTERS_COUNT);
    else
        peer_ended(shard, peer);
    partial_forget(peer);
    if (peer->state != PEER_CLOSING)
        connection_watch(&peer->connection, shard->io);
}

// Nobody is left to be answered.
void feed_watched(struct shard *shard, struct peer *peer, const struct io_event *event) {
    assert(peer->connection.ended && peer->connection.watching);
    if (connection_watched(&peer->connection, shard->io, event))
        peer_close(shard, peer, COUNTERS_COUNT);
}

void feed_event(struct shard *shard, struct peer *peer, const struct io_event *event) {
    if (connection_received(&peer->connection, event))
        feed_bytes(shard, peer, event);
    buffer_drop(event->buffer);
    if (peer->state != PEER_OPEN)
        forget_unless_direct(peer);
    want_rest(shard, peer);
    if (event->result == -ENOBUFS && peer->state != PEER_CLOSING) {
        starve(shard, peer);
        return;
    }
    if (peer->connection.ended)
        feed_end(shard, peer, event);
    else
        go_on(shard, peer);
}

void feed_starved(struct shard *shard) {
    if (list_empty(&shard->starved) || !buffer_pool_can_take(&shard->buffers))
        return;
    struct list waited;
    list_init(&waited);
    for (struct list *node; (node = list_take(&shard->starved));)
        list_append(&waited, node);
    for (struct list *node; (node = list_take(&waited));) {
        struct peer *peer = list_entry(node, struct peer, starved);
        want_rest(shard, peer);
        go_on(shard, peer);
    }
}

void feed_switch(struct peer *peer, const struct transport *transport) {
    assert(!peer->partial);
    peer->transport = transport;
}
