// How requests of HTTP are answered: heads, and bodies in the order of the requests.
#pragma once

#include "core/base/text.h"
#include "core/wire/http_request.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/peer.h"
#include "router/features/feature_list.h"

// The feature's own counters and gauges (http_transport.c).
enum http_counter { HTTP_COUNT_REQUESTS, HTTP_COUNTERS };

enum http_gauge { HTTP_GAUGE_HTTP, HTTP_GAUGE_WEBSOCKET, HTTP_GAUGE_SSE, HTTP_GAUGES };

// Implements codec.respond.
void http_respond(struct shard *shard, struct peer *peer, struct exchange *exchange);
// Opens the exchange of a request that came: in its place among the others. NULL without memory; the peer is
// then closed.
struct exchange *http_open(struct shard *shard, struct peer *peer);
// Answers an open exchange, which this closes, with a status and what may stand behind it: a text of this
// type, which is taken over; NULL: the status in words.
void http_answer(struct shard *shard, struct exchange *exchange, unsigned status, const char *type,
                 struct text *content);
// Answers an exchange with a parcel of undressed JSON, which is taken; NULL: no content.
void http_answer_parcel(struct shard *shard, struct exchange *exchange, unsigned status,
                        struct parcel *content);
// Makes the answer a stream of events and adds one, dressed with its envelope, in a chunk of its own unless http.is_1_0:
// which is taken. The stream ends with exchange_close.
void http_stream(struct shard *shard, struct exchange *exchange, struct parcel *event);
// Answers an exchange with the status of an error and a sentence that says which.
void http_answer_fault(struct shard *shard, struct exchange *exchange, unsigned status, const char *fault);
// Takes an open exchange back, which is the only one: it isn't answered.
void http_discard(struct shard *shard, struct exchange *exchange);
// Takes the peer out of HTTP: queues this text, a head of HTTP and perhaps more, as it is. Nothing may be open.
// False without memory; the peer is then closed.
bool http_leave(struct shard *shard, struct peer *peer, struct text *head);
// Starts a head: status line, date, and what each answer bears.
void http_begin_head(struct shard *shard, struct text *head, unsigned status, const char *origin);
// Tells a peer that waits for it that it may send a body, once all before it has been answered.
void http_go_on(struct shard *shard, struct peer *peer);
// Implements peer_ops.leave: forgets the exchanges of a peer that is being closed.
void http_forget(struct shard *shard, struct peer *peer);
// Forgets the exchanges of a peer that is being closed, and ends the last request, which nobody serves.
void http_discard_unserved(struct shard *shard, struct peer *peer);

// --- Calls
//
// A request of HTTP under way.

// A request that is being served. The call lies on the stack of transport_http.take.
struct http_call {
    struct peer *peer;
    const struct frame *frame;
    const uint8_t *head; // its bytes, from its start
    struct http_request request;
    struct exchange *exchange; // open: whoever serves it closes it, and it may be gone then
    bool has_gap;              // what lay behind it was let go while it waited
};

// A request that is whole, and holds its buffer.
struct http_deferred {
    struct buffer *buffer; // one reference
    uint32_t at;
    struct unit unit;
    uint32_t frames; // that the peer had said when it came, itself included
};

// State of a connection that speaks HTTP, kept also once the connection speaks WebSocket or has server-sent events.
struct http_peer {
    struct list exchanges; // struct exchange.by_peer, in the order of the requests
    uint32_t exchange_count;
    struct http_deferred *deferred; // a request that waits for the answers to all before it; or NULL
    // Of WebSocket.
    bool is_pinged;
    bool is_closed;               // a close frame was queued
    bool is_denied;               // it showed no right credential: its close frame says so
    uint32_t pinged_ms;           // when; a tick
    struct directives directives; // of the request for the upgrade: they hold for each message
};

// NULL: there was no memory for it, and the connection is being closed; or the peer never spoke HTTP.
static inline struct http_peer *http_peer_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_HTTP);
}
