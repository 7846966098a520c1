#include "router/features/http/websocket_transport.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/wire/frame.h"
#include "core/wire/websocket.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/send/slow_reader.h"
#include "router/engine/shard/peer.h"
#include "router/engine/shard/peer_cold.h"
#include "router/engine/shard/probe.h"
#include "router/events/events.h"
#include "router/features/http/http_response.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

// --- Header fields of the upgrade's request, which hold for all messages of the connection

// Returns whether there are no such fields.
static bool websocket_headers_is_plain(const struct directives *directives) {
    assert(!directives_is_bad(directives)); // otherwise the upgrade was refused
    return !directives->has_governance && !directives->has_timeout && !directives->has_idle;
}

// Writes Content-Length and the fields, as a framed peer would send them.
static size_t put_block(char *out, const struct directives *directives, uint32_t body_bytes) {
    size_t count = frame_length_line(out, body_bytes);
    char *at = out + count;
    if (directives->has_governance) {
        at = stpcpy(at, "Governance-Level: ");
        at = stpcpy(at, governance_text(directives->governance));
        at = stpcpy(at, "\r\n");
    }
    if (directives->has_timeout) {
        at = stpcpy(at, "Custom-Timeout-Ms: ");
        at += text_digits(at, directives->timeout_ms);
        at = stpcpy(at, "\r\n");
    }
    if (directives->has_idle) {
        at = stpcpy(at, "Custom-Idle-Timeout-Ms: ");
        at += text_digits(at, directives->idle_ms);
        at = stpcpy(at, "\r\n");
    }
    at = stpcpy(at, "\r\n");
    return (size_t)(at - out);
}

// Routes a message with the fields of the upgrade. The message is copied behind a header block with the fields, since
// framed receivers get header fields.
static void websocket_headers_route(struct shard *shard, struct peer *peer, const struct frame *frame) {
    enum { BLOCK_BYTES_MAX = 192 };
    char block[BLOCK_BYTES_MAX];
    uint32_t body_bytes = frame->body.bytes;
    const struct directives *directives = &http_peer_of(peer)->directives;
    uint32_t block_bytes = (uint32_t)put_block(block, directives, body_bytes);
    struct buffer *copy = buffer_take_sized(&shard->buffers, block_bytes + body_bytes);
    assert(block_bytes < sizeof block);
    if (!copy) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    memcpy(copy->bytes, block, block_bytes);
    memcpy(copy->bytes + block_bytes, frame_body(frame), body_bytes);
    struct unit unit = {
        .length_known = true,
        .canonical = true,
        .bytes = block_bytes + body_bytes,
        .body_at = block_bytes,
        .body_bytes = body_bytes,
        .directives = *directives,
        .length_line_bytes = (uint32_t)frame_length_line(block, body_bytes),
    };
    struct frame unfragmented = frame_at(copy, 0, &unit);
    route_frame(shard, peer, &unfragmented, NULL);
    events_flush(shard);
    buffer_drop(copy);
}

// --- Control frames

// Queues a frame of the hub's own, as it is. Without memory the peer is closed.
static void queue_frame(struct shard *shard, struct peer *peer, const char *bytes, size_t count) {
    struct text text;
    text_init(&text);
    text_add(&text, bytes, count);
    struct parcel *parcel = text.failed ? NULL : parcel_from_text(&shard->parcels, text.bytes, text.length);
    if (parcel) {
        parcel->is_encoded = true;
        send_queue_required(shard, peer, parcel);
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

// Sends a close frame behind the queue, unless one was sent before.
static void send_close(struct shard *shard, struct peer *peer, enum websocket_code code, const char *reason) {
    char frame[WEBSOCKET_CONTROL_HEAD_BYTES + WEBSOCKET_CONTROL_BYTES_MAX];
    if (http_peer_of(peer)->is_closed || peer_is_unreachable(peer))
        return;
    http_peer_of(peer)->is_closed = true;
    send_missed_before_end(shard, peer);
    queue_frame(shard, peer, frame, websocket_close(frame, code, reason));
}

// Handles the peer's close: returns its code, and sends nothing after that (RFC 6455 section 5.5.1).
static void take_close(struct shard *shard, struct peer *peer, const uint8_t *payload, size_t count) {
    if (!http_peer_of(peer)->is_closed)
        queue_control(shard, peer, WEBSOCKET_CLOSE, payload, count < 2 ? 0 : 2);
    http_peer_of(peer)->is_closed = true;
    peer_silence(shard, peer);
}

// Handles a ping, which counts as a message for the user's limits. A ping between fragments is read even while reading
// is paused; then no pong is sent, since a pong may answer several pings.
static void take_ping(struct shard *shard, struct peer *peer, const uint8_t *payload, uint32_t count) {
    assert(count <= WEBSOCKET_CONTROL_BYTES_MAX);
    authn_meter(shard, peer, count);
    if (!queue_limit_pauses_reads(peer))
        queue_control(shard, peer, WEBSOCKET_PONG, payload, count);
}

static void websocket_skip(struct shard *shard, struct peer *peer, const uint8_t *bytes) {
    const uint8_t *payload = bytes + peer->unit.control_at;
    uint32_t count = peer->unit.control_bytes;
    switch (websocket_aside(&peer->unit)) {
    case WEBSOCKET_PING:
        take_ping(shard, peer, payload, count);
        break;
    case WEBSOCKET_CLOSE:
        take_close(shard, peer, payload, count);
        break;
    default: // a pong only shows that the peer is alive, as all messages do
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
    PROBE(frame, peer->connection_id, peer->unit.bytes, peer->unit.body_bytes > RECEIVE_BUFFER_BYTES);
    stats_count(&shard->stats, COUNT_FRAMES_RECEIVED);
    if (peer->unit.body_bytes == 0)
        refuse_empty(shard, peer);
    else if (websocket_headers_is_plain(&http_peer_of(peer)->directives))
        route_frame(shard, peer, frame, NULL);
    else
        websocket_headers_route(shard, peer, frame);
}

static void websocket_refuse(struct shard *shard, struct peer *peer) {
    enum unit_fault fault = peer->unit.fault;
    send_close(shard, peer, websocket_code_of(fault), unit_fault_text(fault));
    peer_silence(shard, peer);
}

static bool websocket_end(struct shard *shard, struct peer *peer, enum peer_end_reason why) {
    switch (why) {
    case PEER_END_UNAUTHENTICATED:
        http_peer_of(peer)->is_denied = true;
        peer_linger(shard, peer); // the queue, with the refusal, is sent before the close frame
        return true;
    case PEER_END_REVOKED:
        send_close(shard, peer, WEBSOCKET_CODE_POLICY, "this credential is gone");
        peer_silence(shard, peer);
        return true;
    case PEER_END_NO_MEMORY:
        send_close(shard, peer, WEBSOCKET_CODE_TRY_LATER, "the hub has no memory for this");
        peer_silence(shard, peer);
        return true;
    case PEER_END_RECORDS:
        break;
    }
    return false;
}

static void websocket_goodbye(struct shard *shard, struct peer *peer) {
    bool ends = shard->phase != HUB_SERVING;
    if (http_peer_of(peer)->is_denied)
        send_close(shard, peer, WEBSOCKET_CODE_POLICY, "this needs a credential");
    send_close(shard, peer, ends ? WEBSOCKET_CODE_GOING_AWAY : WEBSOCKET_CODE_NORMAL,
               ends ? "the hub ends" : "");
}

// --- Idle time

static bool websocket_enter(struct shard *shard, struct peer *peer) {
    wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + WEBSOCKET_SILENCE_MS);
    return true;
}

static void ping(struct shard *shard, struct peer *peer) {
    struct http_peer *own = http_peer_of(peer);
    own->is_pinged = true;
    own->pinged_ms = shard_tick(shard);
    if (peer->connection.send_op)
        slow_reader_poll(shard, peer);
    queue_control(shard, peer, WEBSOCKET_PING, (const uint8_t *)"", 0);
}

// Returns for how long the peer could have answered the ping. While the peer still takes bytes before the ping, it
// can't answer.
static uint32_t unanswered_ms(struct shard *shard, struct peer *peer) {
    uint32_t pinged_ms = shard_since(shard, http_peer_of(peer)->pinged_ms), waiting_ms;
    if (peer->connection.send_op)
        slow_reader_poll(shard, peer);
    waiting_ms = shard_since(shard, peer->sending_ms);
    return waiting_ms < pinged_ms ? waiting_ms : pinged_ms;
}

// Pings a silent peer, and closes it without an answer.
static void websocket_expire(struct shard *shard, struct peer *peer) {
    struct http_peer *own = http_peer_of(peer);
    uint32_t idle_ms = shard_since(shard, peer->received_ms), remaining_ms = WEBSOCKET_PONG_MS;
    // "<=": the answer may come in the tick of the ping
    bool has_replied = own->is_pinged && idle_ms <= shard_since(shard, own->pinged_ms);
    if (peer->state != PEER_OPEN)
        return;
    if (has_replied)
        own->is_pinged = false;
    uint32_t unanswered = own->is_pinged ? unanswered_ms(shard, peer) : 0;
    if (unanswered >= WEBSOCKET_PONG_MS) {
        stats_count(&shard->stats, COUNT_CLOSED_IDLE);
        send_close(shard, peer, WEBSOCKET_CODE_GOING_AWAY, "no sign of life");
        peer_silence(shard, peer);
        return;
    }
    if (own->is_pinged)
        remaining_ms -= unanswered;
    else if (idle_ms >= WEBSOCKET_SILENCE_MS)
        ping(shard, peer);
    else
        remaining_ms = WEBSOCKET_SILENCE_MS - idle_ms;
    if (peer->state == PEER_OPEN)
        wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + remaining_ms);
}

const struct transport transport_websocket = {
    .name = "websocket",
    .codec.wire = &wire_websocket,
    .gauge = FEATURE_GAUGE(FEATURE_HTTP, HTTP_GAUGE_WEBSOCKET),
    .ops.enter = websocket_enter,
    .codec.take = websocket_take,
    .codec.take_control = websocket_skip,
    .codec.refuse = websocket_refuse,
    .ops.end = websocket_end,
    .ops.goodbye = websocket_goodbye,
    .ops.expire = websocket_expire,
    .end_is_leaving = true,
};

static const char subprotocol[] = "hugai.v2";

// Refuses an upgrade to another version or protocol. Status 426 tells which is possible.
static void refuse_upgrade(struct shard *shard, struct http_call *call, const char *fault) {
    call->exchange->http.fields = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    call->exchange->http.closes = true;
    http_answer_fault(shard, call->exchange, 426, fault);
}

static void refuse_bad(struct shard *shard, struct http_call *call, const char *fault) {
    call->exchange->http.closes = true;
    http_answer_fault(shard, call->exchange, 400, fault);
}

bool websocket_is_upgrade(const struct http_call *call) {
    const struct unit *unit = call->frame->unit;
    return !call->request.is_1_0 && http_lists(call->head, unit, HTTP_UPGRADE, "websocket") &&
           http_lists(call->head, unit, HTTP_CONNECTION, "upgrade");
}

static bool directives_good(const struct directives *directives) {
    return !directives_is_bad(directives);
}

// Writes Sec-WebSocket-Accept. Returns NULL, or the fault.
static const char *fault_of(const struct http_call *call, char accept[WEBSOCKET_ACCEPT_BYTES]) {
    struct span key = call->request.fields[HTTP_SEC_WEBSOCKET_KEY];
    if (http_repeated(&call->request, HTTP_SEC_WEBSOCKET_KEY) ||
        !websocket_accept(call->head + key.at, key.bytes, accept))
        return "Sec-WebSocket-Key must be 16 bytes in base64";
    if (http_repeated(&call->request, HTTP_SEC_WEBSOCKET_VERSION))
        return "Sec-WebSocket-Version may occur once only";
    if (call->has_gap) // RFC 6455, 4.1: bytes before the answer can't be told from later bytes
        return "who asks for an upgrade waits for the answer before it says more";
    if (call->frame->unit->body_bytes)
        return "a request for an upgrade has no content";
    if (!directives_good(&call->frame->unit->directives))
        return "HugAI-Version must be 2, Governance-Level a level, Custom-Timeout-Ms and "
               "Custom-Idle-Timeout-Ms 1 "
               "to 3600000";
    return NULL;
}

static void put_switch(struct shard *shard, const struct http_call *call, const char *accept,
                       struct text *head) {
    const struct unit *unit = call->frame->unit;
    http_begin_head(shard, head, 101, call->exchange->http.origin);
    text_put(head, "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ");
    text_add(head, accept, WEBSOCKET_ACCEPT_BYTES);
    text_put(head, "\r\n");
    if (http_lists(call->head, unit, HTTP_SEC_WEBSOCKET_PROTOCOL, subprotocol)) {
        text_put(head, "Sec-WebSocket-Protocol: ");
        text_put(head, subprotocol);
        text_put(head, "\r\n");
    }
    text_put(head, "\r\n");
}

void websocket_upgrade(struct shard *shard, struct http_call *call) {
    struct peer *peer = call->peer;
    char accept[WEBSOCKET_ACCEPT_BYTES];
    struct span version = call->request.fields[HTTP_SEC_WEBSOCKET_VERSION];
    const char *fault = websocket_is_upgrade(call) ? NULL : "this path speaks WebSocket";
    if (!fault && !http_span_is(call->head, version, "13"))
        fault = "Sec-WebSocket-Version must be 13";
    if (fault) {
        refuse_upgrade(shard, call, fault);
        return;
    }
    fault = fault_of(call, accept);
    if (fault) {
        refuse_bad(shard, call, fault);
        return;
    }
    struct text head;
    put_switch(shard, call, accept, &head);
    http_peer_of(peer)->directives = call->frame->unit->directives;
    http_discard(shard, call->exchange);
    if (!http_leave(shard, peer, &head))
        return;
    receive_switch(shard, peer, &transport_websocket);
    transport_websocket.ops.enter(shard, peer);
}
