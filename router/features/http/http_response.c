#include "router/features/http/http_response.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "core/wire/http_block.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/peer_cold.h"

static const char type_json[] = "application/json";

static const char *reason_of(unsigned status) {
    static const struct {
        unsigned status;
        const char *reason;
    } reasons[] = {
        {101, "Switching Protocols"},
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t index = 0; index < sizeof reasons / sizeof *reasons; index++)
        if (reasons[index].status == status)
            return reasons[index].reason;
    assert(false);
    return "Error";
}

// --- Heads

static void put_begin(struct text *head, unsigned status, uint64_t unix_s) {
    char date[TIMESTAMP_HTTP_BYTES];
    timestamp_write_http(date, unix_s);
    text_put(head, "HTTP/1.1 ");
    text_number(head, status);
    text_put(head, " ");
    text_put(head, reason_of(status));
    text_put(head, "\r\nDate: ");
    text_add(head, date, sizeof date);
    text_put(head, "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n");
}

// Begins the head of a 200 answer. The thread keeps these bytes, since they are the same for a whole second.
static void put_usual_begin(struct text *head, uint64_t unix_s) {
    static _Thread_local struct {
        uint64_t unix_s;
        size_t bytes; // 0: no bytes are kept
        char text[128];
    } kept;
    assert(head->length == 0);
    if (kept.bytes && kept.unix_s == unix_s) {
        text_add(head, kept.text, kept.bytes);
        return;
    }
    put_begin(head, 200, unix_s);
    if (head->failed || head->length > sizeof kept.text)
        return;
    memcpy(kept.text, head->bytes, head->length);
    kept.bytes = head->length;
    kept.unix_s = unix_s;
}

void http_begin_head(struct shard *shard, struct text *head, unsigned status, const char *origin) {
    uint64_t unix_s = shard_wall_s(shard);
    text_init(head);
    text_reserve(head, 320);
    if (status == 200)
        put_usual_begin(head, unix_s);
    else
        put_begin(head, status, unix_s);
    if (!origin)
        return;
    text_put(head, "Access-Control-Allow-Origin: ");
    text_put(head, origin);
    text_put(head, "\r\nAccess-Control-Expose-Headers: HugAI-Version, Governance-Level, Request-Id, "
                   "Mcp-Session-Id, WWW-Authenticate\r\nVary: Origin\r\n");
}

static unsigned status_of(const struct exchange *exchange) {
    if (exchange->http.status)
        return exchange->http.status;
    return exchange->count == 0 ? 202 : exchange->is_bad ? 400 : 200;
}

// Copies header fields of the answer that may pass to the client.
static void put_passing(struct text *head, const struct parcel *answer) {
    uint32_t at = 0;
    struct span line;
    while (answer && answer->block && http_next_passing(answer->block, answer->block_bytes, &at, &line))
        text_add(head, answer->block + line.at, line.bytes);
}

// Puts the fields of an event stream. Chunks mark the stream's end, so that the connection can stay open.
static void put_stream_head(const struct exchange *exchange, struct text *head) {
    assert(exchange->http.streams);
    text_put(head, "Content-Type: text/event-stream\r\nX-Accel-Buffering: no\r\n");
    if (!exchange->http.is_1_0)
        text_put(head, "Transfer-Encoding: chunked\r\n");
    text_put(head, "\r\n");
}

static void put_head(struct shard *shard, const struct exchange *exchange, struct text *head) {
    const struct http_note *note = &exchange->http;
    unsigned status = status_of(exchange);
    http_begin_head(shard, head, status, note->origin);
    if (note->closes)
        text_put(head, "Connection: close\r\n");
    if (note->fields)
        text_put(head, note->fields);
    if (note->lines)
        text_put(head, note->lines);
    if (note->streams) {
        put_stream_head(exchange, head);
        return;
    }
    if (exchange->count) {
        text_put(head, "Content-Type: ");
        text_put(head, note->type ? note->type : type_json);
        text_put(head, "\r\n");
        put_passing(head, exchange->is_array ? NULL : exchange->answers.first);
    }
    if (status != 204) {
        text_put(head, "Content-Length: ");
        text_number(head, (int64_t)exchange_body_bytes(exchange));
        text_put(head, "\r\n");
    }
    text_put(head, "\r\n");
}

// Makes a parcel that is sent as it is. Returns NULL without memory.
static struct parcel *parcel_as_is(struct shard *shard, struct text *text) {
    struct parcel *parcel =
        text->failed ? NULL : parcel_from_text(&shard->parcels, text->bytes, text->length);
    if (!parcel)
        text_deinit(text);
    else
        parcel->is_encoded = true;
    return parcel;
}

// --- Answers in the order of the requests

static void release_answers(struct shard *shard, struct exchange *exchange) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&exchange->answers));)
        send_release(shard, parcel);
}

// --- Streams of events

static bool begin_stream(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    struct text text;
    assert(exchange->http.streams && !exchange->http.is_begun);
    exchange->http.is_begun = true;
    put_head(shard, exchange, &text);
    struct parcel *head = parcel_as_is(shard, &text);
    if (head)
        send_queue_required(shard, peer, head);
    return head != NULL;
}

// Sends the events of a stream. Until now they waited for the answers to earlier requests. From now on the queue bounds
// them.
static bool send_events(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    if (!exchange->http.is_begun && !begin_stream(shard, peer, exchange))
        return false;
    exchange_let_go(peer, exchange);
    for (struct parcel *parcel; (parcel = parcel_list_take(&exchange->answers));)
        send_queue_required(shard, peer, parcel);
    return true;
}

static bool end_stream(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    struct text text;
    if (!send_events(shard, peer, exchange))
        return false;
    if (exchange->http.is_1_0)
        return true;
    text_init(&text);
    text_put(&text, "0\r\n\r\n");
    struct parcel *parcel = parcel_as_is(shard, &text);
    if (parcel)
        send_queue_required(shard, peer, parcel);
    return parcel != NULL;
}

// Returns whether all earlier requests of the connection were answered.
static bool is_first(const struct peer *peer, const struct exchange *exchange) {
    assert(!list_empty(&http_peer_of(peer)->exchanges));
    return http_peer_of(peer)->exchanges.next == &exchange->by_peer;
}

void http_stream(struct shard *shard, struct exchange *exchange, struct parcel *event) {
    struct peer *peer = peer_find(shard, exchange->connection);
    assert(!exchange->is_ended && event->is_encoded);
    exchange->http.streams = true;
    exchange->http.status = 200;
    if (!peer) {
        send_release(shard, event);
        return;
    }
    exchange_charge(shard, peer, exchange, event->bytes);
    parcel_list_append(&exchange->answers, event);
    if (is_first(peer, exchange) && !send_events(shard, peer, exchange))
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static bool send_exchange(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    struct text text;
    if (exchange->http.streams)
        return end_stream(shard, peer, exchange);
    put_head(shard, exchange, &text);
    struct parcel *head = parcel_as_is(shard, &text);
    if (!head)
        return false;
    struct parcel_list chain;
    parcel_list_init(&chain);
    parcel_list_append(&chain, head);
    if (exchange->http.head_only)
        release_answers(shard, exchange);
    if (exchange->answers.first) {
        head->unfinished = true;
        exchange_encode(exchange, &wire_http);
    }
    for (struct parcel *parcel; (parcel = parcel_list_take(&exchange->answers));)
        parcel_list_append(&chain, parcel);
    send_queue_chain(shard, peer, &chain);
    return true;
}

static void idle_from_now(struct shard *shard, struct peer *peer) {
    if (http_peer_of(peer)->exchange_count == 0)
        wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + HTTP_IDLE_MS);
}

// Serves a deferred request by a timer, since another request's answer is being sent now.
static void resume_soon(struct shard *shard, struct peer *peer) {
    const struct http_peer *own = http_peer_of(peer);
    if (own->deferred && own->exchange_count == 1)
        wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard));
}

// Goes on with the first request that isn't answered yet.
static void go_on(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    assert(!exchange->is_ended);
    resume_soon(shard, peer);
    if (exchange->http.streams && !peer_is_unreachable(peer) && !send_events(shard, peer, exchange))
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

void http_respond(struct shard *shard, struct peer *peer, struct exchange *exchange) {
    struct http_peer *own = http_peer_of(peer);
    assert(exchange->is_ended && own && own->exchange_count > 0);
    while (!list_empty(&own->exchanges)) {
        exchange = list_entry(own->exchanges.next, struct exchange, by_peer);
        if (!exchange->is_ended) {
            go_on(shard, peer, exchange);
            return;
        }
        bool is_leaving = peer->state != PEER_OPEN && peer->state != PEER_ENDED;
        bool closes = exchange->http.closes || is_leaving;
        bool sent = is_leaving || send_exchange(shard, peer, exchange);
        if (!sent)
            peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        else if (closes)
            peer_linger(shard, peer);
        own->exchange_count--;
        exchange_free(shard, exchange);
        if (!sent || closes)
            return;
    }
    if (peer->state != PEER_OPEN)
        return;
    idle_from_now(shard, peer);
    http_go_on(shard, peer);
}

void http_go_on(struct shard *shard, struct peer *peer) {
    if (!peer->cold->is_awaiting_continue || http_peer_of(peer)->exchange_count)
        return;
    peer->cold->is_awaiting_continue = false;
    struct text text;
    text_init(&text);
    text_put(&text, "HTTP/1.1 100 Continue\r\n\r\n");
    struct parcel *parcel = parcel_as_is(shard, &text);
    if (!parcel) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    send_queue_required(shard, peer, parcel);
    peer_timer_restart(shard, peer); // the body's time-out begins
}

struct exchange *http_open(struct shard *shard, struct peer *peer) {
    struct http_peer *own = http_peer_of(peer);
    struct exchange *exchange = exchange_open(shard, peer);
    if (!exchange) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return NULL;
    }
    wheel_disarm(&peer->cold->timer);
    list_append(&own->exchanges, &exchange->by_peer);
    own->exchange_count++;
    return exchange;
}

void http_answer(struct shard *shard, struct exchange *exchange, unsigned status, const char *type,
                 struct text *content) {
    struct text body;
    exchange->http.status = (uint16_t)status;
    exchange->http.type = content ? type : "text/plain; charset=utf-8";
    if (!content) {
        text_init(&body);
        text_put(&body, reason_of(status));
        text_put(&body, "\n");
        content = &body;
    }
    struct parcel *parcel =
        content->failed ? NULL : parcel_from_text(&shard->parcels, content->bytes, content->length);
    if (parcel) {
        exchange_expect(exchange);
        exchange_answer(shard, exchange, parcel);
    } else {
        text_deinit(content);
        struct peer *peer = peer_find(shard, exchange->connection);
        if (peer)
            peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    }
    exchange_close(shard, exchange);
}

void http_answer_parcel(struct shard *shard, struct exchange *exchange, unsigned status,
                        struct parcel *content) {
    exchange->http.status = (uint16_t)status;
    if (content) {
        exchange_expect(exchange);
        exchange_answer(shard, exchange, content);
    }
    exchange_close(shard, exchange);
}

void http_answer_fault(struct shard *shard, struct exchange *exchange, unsigned status, const char *fault) {
    struct text content;
    text_init(&content);
    text_put(&content, fault);
    text_put(&content, "\n");
    http_answer(shard, exchange, status, "text/plain; charset=utf-8", &content);
}

void http_discard(struct shard *shard, struct exchange *exchange) {
    struct peer *peer = peer_find(shard, exchange->connection);
    assert(peer && http_peer_of(peer)->exchange_count == 1 && exchange->answers_due == 1 && !exchange->count);
    http_peer_of(peer)->exchange_count = 0;
    exchange->answers_due = 0;
    exchange->is_ended = true;
    exchange_free(shard, exchange);
}

bool http_leave(struct shard *shard, struct peer *peer, struct text *head) {
    assert(http_peer_of(peer)->exchange_count == 0);
    struct parcel *parcel = parcel_as_is(shard, head);
    if (parcel)
        send_queue_required(shard, peer, parcel);
    else
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
    return parcel != NULL;
}

void http_forget(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_CLOSING);
    struct http_peer *own = http_peer_of(peer);
    if (own && own->deferred) {
        peer_erase(peer, own->deferred->buffer->bytes + own->deferred->at, own->deferred->unit.bytes);
        buffer_drop(own->deferred->buffer);
        quota_give(&shard->quota, own->deferred);
        own->deferred = NULL;
    }
    for (struct list *node; own && (node = list_take(&own->exchanges));) {
        struct exchange *exchange = list_entry(node, struct exchange, by_peer);
        if (exchange->is_ended)
            exchange_free(shard, exchange);
        else if (exchange->http.gone)
            exchange->http.gone(shard, exchange);
    }
}

void http_discard_unserved(struct shard *shard, struct peer *peer) {
    struct list *exchanges = &http_peer_of(peer)->exchanges;
    struct exchange *last =
        list_empty(exchanges) ? NULL : list_entry(exchanges->prev, struct exchange, by_peer);
    assert(!last || !last->is_ended);
    http_forget(shard, peer);
    if (last)
        exchange_close(shard, last);
}
