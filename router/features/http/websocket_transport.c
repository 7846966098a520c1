#include "router/features/http/websocket_transport.h"

#include <assert.h>
#include <string.h>

#include "core/wire/websocket.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/probe.h"
#include "router/features/http/websocket_headers.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

// --- Control frames

// A frame of the hub's own, as it is. Without memory for it the peer is closed.
static void queue_frame(struct shard *shard, struct peer *peer, const char *bytes, size_t count) {
    struct text text;
    text_init(&text);
    text_add(&text, bytes, count);
    struct parcel *parcel = text.failed ? NULL : parcel_own(&shard->parcels, text.bytes, text.length);
    if (parcel) {
        parcel->dressed = true;
        send_queue_owed(shard, peer, parcel);
        return;
    }
    text_deinit(&text);
    peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static void queue_control(struct shard *shard, struct peer *peer, enum websocket_opcode opcode,
                          const uint8_t *payload, size_t count) {
    char frame[WEBSOCKET_CONTROL_HEAD_BYTES + WEBSOCKET_CONTROL_BYTES_MAX];
    assert(count <= WEBSOCKET_CONTROL_BYTES_MAX);
    websocket_control_head(frame, opcode, count);
    memcpy(frame + WEBSOCKET_CONTROL_HEAD_BYTES, payload, count);
    queue_frame(shard, peer, frame, WEBSOCKET_CONTROL_HEAD_BYTES + count);
}

// The one close frame, behind all that waits.
static void say_close(struct shard *shard, struct peer *peer, enum websocket_code code, const char *reason) {
    char frame[WEBSOCKET_CONTROL_HEAD_BYTES + WEBSOCKET_CONTROL_BYTES_MAX];
    if (peer->annex->is_closed || peer_is_deaf(peer))
        return;
    peer->annex->is_closed = true;
    send_missed_before_end(shard, peer);
    queue_frame(shard, peer, frame, websocket_close(frame, code, reason));
}

// The peer closes: it is sent its code back, and nothing behind that (RFC 6455 section 5.5.1).
static void take_close(struct shard *shard, struct peer *peer, const uint8_t *payload, size_t count) {
    if (!peer->annex->is_closed)
        queue_control(shard, peer, WEBSOCKET_CLOSE, payload, count < 2 ? 0 : 2);
    peer->annex->is_closed = true;
    peer_silence(shard, peer);
}

// A ping counts as a message. Between the fragments of a message it is read though its sender is held back, and has no pong
// then: it is one of many that are answered.
static void take_ping(struct shard *shard, struct peer *peer, const uint8_t *payload, uint32_t count) {
    assert(count <= WEBSOCKET_CONTROL_BYTES_MAX);
    authn_meter(shard, peer, count);
    if (!send_holds_back(peer))
        queue_control(shard, peer, WEBSOCKET_PONG, payload, count);
}

static void websocket_take_aside(struct shard *shard, struct peer *peer, const uint8_t *bytes) {
    const uint8_t *payload = bytes + peer->unit.aside_at;
    uint32_t count = peer->unit.aside_bytes;
    switch (websocket_aside(&peer->unit)) {
    case WEBSOCKET_PING:
        take_ping(shard, peer, payload, count);
        break;
    case WEBSOCKET_CLOSE:
        take_close(shard, peer, payload, count);
        break;
    default: // a pong is a sign of life, as all that comes is
        break;
    }
}

// --- Messages

static void refuse_empty(struct shard *shard, struct peer *peer) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "there is no body");
    reply_error(shard, peer, (struct reply_to){0}, ERROR_PARSE, &data);
}

static void websocket_take(struct shard *shard, struct peer *peer, struct frame *frame) {
    PROBE(frame, peer->name, peer->unit.bytes, peer->unit.body_bytes > RECEIVE_BUFFER_BYTES);
    stats_count(&shard->stats, COUNT_FRAMES_RECEIVED);
    if (peer->unit.body_bytes == 0)
        refuse_empty(shard, peer);
    else if (websocket_headers_is_plain(&peer->annex->directives))
        route_frame(shard, peer, frame, NULL);
    else
        websocket_headers_route(shard, peer, frame);
}

static void websocket_refuse(struct shard *shard, struct peer *peer) {
    enum unit_fault fault = peer->unit.fault;
    say_close(shard, peer, websocket_code_of(fault), unit_fault_text(fault));
    peer_silence(shard, peer);
}

static void websocket_deny(struct shard *shard, struct peer *peer, bool in_request) {
    (void)in_request;
    peer->annex->is_denied = true;
    peer_linger(shard, peer); // what it is owed still comes before the close frame, its refusal too
}

static void websocket_revoke(struct shard *shard, struct peer *peer) {
    say_close(shard, peer, WEBSOCKET_CODE_POLICY, "this credential is gone");
    peer_silence(shard, peer);
}

static void websocket_overload(struct shard *shard, struct peer *peer) {
    say_close(shard, peer, WEBSOCKET_CODE_TRY_LATER, "the hub has no memory for this");
    peer_silence(shard, peer);
}

static void websocket_farewell(struct shard *shard, struct peer *peer) {
    bool ends = shard->phase != HUB_SERVING;
    if (peer->annex->is_denied)
        say_close(shard, peer, WEBSOCKET_CODE_POLICY, "this needs a credential");
    say_close(shard, peer, ends ? WEBSOCKET_CODE_GOING_AWAY : WEBSOCKET_CODE_NORMAL,
              ends ? "the hub ends" : "");
}

// --- Its time

static bool websocket_enter(struct shard *shard, struct peer *peer) {
    wheel_arm(&shard->wheel, &peer->annex->timer, shard_now_ms(shard) + WEBSOCKET_SILENCE_MS);
    return true;
}

static void ping(struct shard *shard, struct peer *peer) {
    peer->annex->is_pinged = true;
    peer->annex->pinged_ms = shard_tick(shard);
    if (peer->connection.shipment)
        slow_reader_ask(shard, peer);
    queue_control(shard, peer, WEBSOCKET_PING, (const uint8_t *)"", 0);
}

// For how long it could have answered: while it takes what stands before the ping, it can't.
static uint32_t unanswered_ms(struct shard *shard, struct peer *peer) {
    uint32_t pinged_ms = shard_since(shard, peer->annex->pinged_ms), still_ms;
    if (peer->connection.shipment)
        slow_reader_ask(shard, peer);
    still_ms = shard_since(shard, peer->sending_ms);
    return still_ms < pinged_ms ? still_ms : pinged_ms;
}

// A silent peer is asked for a sign of life, and closed without one.
static void websocket_expire(struct shard *shard, struct peer *peer) {
    struct annex *annex = peer->annex;
    uint32_t silent_ms = shard_since(shard, peer->heard_ms), left_ms = WEBSOCKET_PONG_MS;
    bool heard_since = annex->is_pinged && silent_ms <= shard_since(shard, annex->pinged_ms); // also at once
    if (peer->state != PEER_OPEN)
        return;
    if (heard_since)
        annex->is_pinged = false;
    uint32_t unanswered = annex->is_pinged ? unanswered_ms(shard, peer) : 0;
    if (unanswered >= WEBSOCKET_PONG_MS) {
        stats_count(&shard->stats, COUNT_CLOSED_IDLE);
        say_close(shard, peer, WEBSOCKET_CODE_GOING_AWAY, "no sign of life");
        peer_silence(shard, peer);
        return;
    }
    if (annex->is_pinged)
        left_ms -= unanswered;
    else if (silent_ms >= WEBSOCKET_SILENCE_MS)
        ping(shard, peer);
    else
        left_ms = WEBSOCKET_SILENCE_MS - silent_ms;
    if (peer->state == PEER_OPEN)
        wheel_arm(&shard->wheel, &annex->timer, shard_now_ms(shard) + left_ms);
}

const struct transport transport_websocket = {
    .name = "websocket",
    .wire = &wire_websocket,
    .gauge = GAUGE_WEBSOCKET,
    .enter = websocket_enter,
    .take = websocket_take,
    .aside = websocket_take_aside,
    .refuse = websocket_refuse,
    .overload = websocket_overload,
    .deny = websocket_deny,
    .revoke = websocket_revoke,
    .farewell = websocket_farewell,
    .expire = websocket_expire,
    .end_is_leaving = true,
};
