#include "router/features/mcp_http/mcp_exchange.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/send/envelope.h"
#include "core/send/line_breaks.h"
#include "core/wire/sse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"
#include "router/features/feature_list.h"
#include "router/features/http/http_response.h"
#include "router/features/mcp_http/mcp_table.h"

static mcp_exchange_serve *serve_arrival;
static mcp_exchange_gone *note_gone;

void mcp_exchange_set(mcp_exchange_serve *serve, mcp_exchange_gone *gone) {
    serve_arrival = serve;
    note_gone = gone;
}

// Kinds of mail.
enum {
    MAIL_MCP_REQUEST, // an exchange to shard 0, which serves the request
    MAIL_MCP_ANSWER,  // an exchange back to its shard, with its answer
    MAIL_MCP_EVENT,   // a parcel to the connection's shard: an event of the answer
    MAIL_MCP_GONE,    // to shard 0: the connection has gone
    MAIL_MCP_LEFT,    // to the connection's shard: shard 0 has had MAIL_MCP_GONE
};

static void post(struct shard *shard, uint32_t to, struct mail *mail, unsigned kind, uint8_t detail) {
    assert(to != shard->index);
    mail->kind = FEATURE_KIND(FEATURE_MCP_HTTP, kind);
    mail->detail = detail;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), mail);
}

// The head of an answer with 503 for want of memory: the client may come back after a second.
static const char comes_back[] = "Retry-After: 1\r\n";

// --- On the connection's shard

static void give(struct shard *shard, struct mcp_exchange *exchange) {
    assert(!exchange->exchange && !exchange->content && !exchange->lines &&
           mcp_http_shard(shard)->exchanges_out > 0);
    mcp_http_shard(shard)->exchanges_out--;
    memory_give(exchange->stream_lines);
    quota_give(&shard->quota, exchange);
}

// Detaches an exchange from its connection, which is being closed, and tells shard 0.
static void leave(struct shard *shard, struct exchange *http) {
    struct mcp_exchange *exchange = http->inbound;
    assert(exchange->exchange == http);
    http->inbound = NULL;
    http->http.gone = NULL;
    exchange->exchange = NULL;
    exchange_miss(shard, http);
    if (shard->index == 0) {
        exchange->is_gone = true;
        note_gone(shard, exchange);
        return;
    }
    exchange->gone_is_out = true;
    post(shard, 0, &exchange->gone_mail, MAIL_MCP_GONE, 0);
}

// Puts all bytes of the request into a parcel for shard 0. Returns false without memory.
static bool pack(struct shard *shard, const struct http_call *call, struct mcp_exchange *exchange) {
    const struct frame *frame = call->frame;
    struct unit whole = {.length_known = true, .bytes = frame->unit->bytes, .body_bytes = frame->unit->bytes};
    struct frame bytes = frame_at(frame->buffer, frame->at, &whole);
    exchange->request = parcel_forward(&shard->parcels, &bytes);
    return exchange->request != NULL;
}

static void serve_here(struct shard *shard, const struct http_call *call, struct mcp_exchange *exchange) {
    struct mcp_arrival arrival = {exchange, call->frame, call->head, call->request};
    assert(shard->index == 0);
    serve_arrival(shard, &arrival);
}

void mcp_exchange_take(struct shard *shard, struct http_call *call) {
    struct mcp_exchange *exchange = quota_take_anyway(&shard->quota, sizeof *exchange);
    const struct user *user = shard->settings->users ? identity_user(call->peer) : NULL;
    if (exchange)
        *exchange = (struct mcp_exchange){.exchange = call->exchange,
                                          .connection = call->peer->connection_id,
                                          .user = user,
                                          .is_1_0 = call->request.is_1_0,
                                          .unit = *call->frame->unit,
                                          .sent_ms = shard_now_ms(shard)};
    if (!exchange || (shard->index != 0 && !pack(shard, call, exchange))) {
        quota_give(&shard->quota, exchange);
        call->exchange->http.closes = true;
        call->exchange->http.fields = comes_back;
        http_answer(shard, call->exchange, 503, NULL, NULL);
        return;
    }
    mcp_http_shard(shard)->exchanges_out++;
    exchange->mail.connection = exchange->gone_mail.connection = exchange->connection;
    call->exchange->inbound = exchange;
    call->exchange->http.gone = leave;
    if (shard->index == 0)
        serve_here(shard, call, exchange);
    else
        post(shard, 0, &exchange->mail, MAIL_MCP_REQUEST, 0);
}

enum { EVENT_IS_NOTIFICATION = 1 };

// Moves stream_lines to the head, which is sent with the first event.
static void take_stream_lines(struct http_note *note, struct mcp_exchange *exchange) {
    if (note->streams || !exchange->stream_lines)
        return;
    assert(!note->lines);
    note->lines = exchange->stream_lines;
    exchange->stream_lines = NULL;
}

static void deliver(struct shard *shard, struct mcp_exchange *exchange, struct parcel *event,
                    uint8_t detail) {
    const struct peer *peer = exchange->exchange ? peer_find(shard, exchange->connection) : NULL;
    bool is_full =
        peer && (detail & EVENT_IS_NOTIFICATION) &&
        (!queue_limit_has_room(shard, peer) || peer->exchange_bytes >= shard_limits(shard)->queue_bytes_max);
    if (peer && !is_full) {
        take_stream_lines(&exchange->exchange->http, exchange);
        http_stream(shard, exchange->exchange, event);
        return;
    }
    drop_one(shard, is_full ? COUNT_DROP_OVERLOADED : COUNT_DROP_TARGET_GONE, exchange->connection,
             event->bytes);
    send_release(shard, event);
}

static void answer_home(struct shard *shard, struct exchange *http, struct mcp_exchange *exchange) {
    struct parcel *content = exchange->content;
    char *lines = exchange->lines;
    exchange->content = NULL;
    exchange->lines = NULL;
    if (http->http.streams || exchange->streams)
        take_stream_lines(&http->http, exchange);
    else
        http->http.lines = lines;
    if (exchange->fields)
        http->http.fields = exchange->fields;
    if (http->http.streams || exchange->streams) {
        http->http.streams = true;
        http->http.status = 200;
        exchange_close(shard, http);
    } else {
        http_answer_parcel(shard, http, exchange->status, content);
    }
}

// Takes an answered exchange back on the connection's shard, and sends the answer.
static void return_home(struct shard *shard, struct mcp_exchange *exchange) {
    struct exchange *http = exchange->exchange;
    assert(connection_shard(exchange->connection) == shard->index);
    exchange->exchange = NULL;
    exchange->is_home = true;
    if (http) {
        http->inbound = NULL;
        http->http.gone = NULL;
        answer_home(shard, http, exchange);
    } else {
        if (exchange->content) {
            drop_one(shard, COUNT_DROP_ANSWER_SOURCE_GONE, exchange->connection, exchange->content->bytes);
            send_release(shard, exchange->content);
        }
        exchange->content = NULL;
        memory_give(exchange->lines);
        exchange->lines = NULL;
    }
    if (!exchange->gone_is_out)
        give(shard, exchange);
}

// --- On shard 0

static void arrive(struct shard *shard, struct mcp_exchange *exchange) {
    struct parcel *request = exchange->request;
    struct buffer *buffer = buffer_take_sized(&shard->buffers, exchange->unit.bytes);
    assert(shard->index == 0 && request && request->piece_count == 1);
    exchange->request = NULL;
    if (buffer)
        parcel_copy(request, buffer->bytes);
    send_release(shard, request);
    if (!buffer) {
        mcp_exchange_answer(shard, exchange, 503, comes_back, NULL, NULL);
        return;
    }
    struct frame frame = frame_at(buffer, 0, &exchange->unit);
    struct mcp_arrival arrival = {.exchange = exchange, .frame = &frame, .head = buffer->bytes};
    http_read(arrival.head, frame.unit, &arrival.request);
    serve_arrival(shard, &arrival);
    buffer_drop(buffer);
}

static bool put_head(struct parcel *event, size_t body_bytes, const char *id, bool is_1_0) {
    static const char hex[] = "0123456789abcdef";
    char head[32 + SSE_HEAD_BYTES_MAX], line[SSE_HEAD_BYTES_MAX];
    size_t line_bytes = sse_head(line, NULL, id, id ? strlen(id) : 0), at = 0;
    uint64_t bytes = line_bytes + body_bytes + 2; // with the two line feeds of the tail
    if (!is_1_0) {
        for (int shift = 60; shift >= 0; shift -= 4)
            if (bytes >> shift)
                head[at++] = hex[bytes >> shift & 15];
        head[at++] = '\r';
        head[at++] = '\n';
    }
    memcpy(head + at, line, line_bytes);
    return parcel_set_head(event, head, at + line_bytes);
}

// The frames of an event: each event is a chunk of its own. HTTP/1.0 has no chunks.
static const struct wire wire_event = {.name = "event", .tail = "\n\n", .tail_bytes = 2};
static const struct wire wire_event_chunk = {.name = "event chunk", .tail = "\n\n\r\n", .tail_bytes = 4};

// Returns an encoded event or comment that consists of these lines; NULL without memory.
static struct parcel *plain(struct shard *shard, const struct mcp_exchange *exchange, const char *lines) {
    char length[24];
    struct text text;
    text_init(&text);
    if (!exchange->is_1_0)
        text_add(&text, length, (size_t)snprintf(length, sizeof length, "%zx\r\n", strlen(lines)));
    text_put(&text, lines);
    text_put(&text, exchange->is_1_0 ? "" : "\r\n");
    struct parcel *parcel = text.failed ? NULL : parcel_from_text(&shard->parcels, text.bytes, text.length);
    if (parcel)
        parcel->is_encoded = true;
    else
        text_deinit(&text);
    return parcel;
}

static bool encode_event(struct parcel *body, const char *id, bool is_1_0) {
    assert(!body->is_encoded && body->hole_count == 0 && !body->shares);
    line_breaks_settle(body, &wire_sse);
    if (!put_head(body, body->bytes, id, is_1_0))
        return false;
    parcel_encode(body, is_1_0 ? &wire_event : &wire_event_chunk);
    return true;
}

static void post_event(struct shard *shard, struct mcp_exchange *exchange, struct parcel *event,
                       uint8_t detail) {
    uint32_t to = connection_shard(exchange->connection);
    assert(event->is_encoded && !exchange->is_gone);
    exchange->streams = true;
    exchange->sent_ms = shard_now_ms(shard);
    event->hub_id = 0;
    event->lane = LANE_NORMAL;
    if (to == shard->index) {
        deliver(shard, exchange, event, detail);
        return;
    }
    event->to = exchange;
    event->mail.connection = exchange->connection;
    post(shard, to, &event->mail, MAIL_MCP_EVENT, detail);
}

static void send_lines(struct shard *shard, struct mcp_exchange *exchange, const char *lines,
                       uint8_t detail) {
    struct parcel *event = exchange->is_gone ? NULL : plain(shard, exchange, lines);
    assert(shard->index == 0);
    if (event)
        post_event(shard, exchange, event, detail);
    else
        drop_one(shard, exchange->is_gone ? COUNT_DROP_TARGET_GONE : COUNT_DROP_NO_MEMORY,
                 exchange->connection, 0);
}

void mcp_exchange_comment(struct shard *shard, struct mcp_exchange *exchange) {
    send_lines(shard, exchange, ":\n\n", EVENT_IS_NOTIFICATION);
}

void mcp_exchange_mark(struct shard *shard, struct mcp_exchange *exchange, const char *id) {
    char lines[SSE_HEAD_BYTES_MAX + 3];
    size_t bytes = sse_head(lines, NULL, id, strlen(id));
    memcpy(lines + bytes, "\n\n", 3);
    send_lines(shard, exchange, lines, 0);
}

void mcp_exchange_send(struct shard *shard, struct mcp_exchange *exchange, struct parcel *body,
                       const char *id, bool is_notification) {
    assert(shard->index == 0);
    if (!exchange->is_gone && encode_event(body, id, exchange->is_1_0)) {
        post_event(shard, exchange, body, is_notification ? EVENT_IS_NOTIFICATION : 0);
        return;
    }
    drop_one(shard, exchange->is_gone ? COUNT_DROP_TARGET_GONE : COUNT_DROP_NO_MEMORY, exchange->connection,
             body->bytes);
    send_release(shard, body);
}

void mcp_exchange_answer(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                         const char *fields, char *lines, struct parcel *content) {
    uint32_t to = connection_shard(exchange->connection);
    assert(shard->index == 0 && !exchange->call && !exchange->listener);
    exchange->is_answered = true;
    exchange->status = (uint16_t)status;
    exchange->fields = fields;
    exchange->lines = lines;
    exchange->content = content;
    if (to == shard->index)
        return_home(shard, exchange);
    else
        post(shard, to, &exchange->mail, MAIL_MCP_ANSWER, 0);
}

void mcp_exchange_end(struct shard *shard, struct mcp_exchange *exchange) {
    exchange->streams = true;
    mcp_exchange_answer(shard, exchange, 200, NULL, NULL, NULL);
}

// --- Mail

void mcp_exchange_take_mail(struct shard *shard, struct mail *mail, unsigned kind) {
    struct parcel *event;
    struct mcp_exchange *exchange;
    switch (kind) {
    case MAIL_MCP_REQUEST:
        arrive(shard, list_entry(mail, struct mcp_exchange, mail));
        break;
    case MAIL_MCP_EVENT:
        event = list_entry(mail, struct parcel, mail);
        deliver(shard, event->to, event, mail->detail);
        break;
    case MAIL_MCP_ANSWER:
        return_home(shard, list_entry(mail, struct mcp_exchange, mail));
        break;
    case MAIL_MCP_GONE:
        exchange = list_entry(mail, struct mcp_exchange, gone_mail);
        if (!exchange->is_answered) {
            exchange->is_gone = true;
            note_gone(shard, exchange);
        }
        post(shard, connection_shard(mail->connection), mail, MAIL_MCP_LEFT, 0);
        break;
    case MAIL_MCP_LEFT:
        exchange = list_entry(mail, struct mcp_exchange, gone_mail);
        exchange->gone_is_out = false;
        if (exchange->is_home)
            give(shard, exchange);
        break;
    default:
        assert(false);
    }
}
