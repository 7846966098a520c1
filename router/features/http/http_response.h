// Answers to HTTP requests: heads, and bodies in the order of the requests.
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
// Opens the exchange of a new request, behind the exchanges of earlier requests. Returns NULL without memory: then the
// peer is closed.
struct exchange *http_open(struct shard *shard, struct peer *peer);
// Answers and closes an open exchange, with a status and a text of this type. Takes the text. NULL: the text is the
// status in words.
void http_answer(struct shard *shard, struct exchange *exchange, unsigned status, const char *type,
                 struct text *content);
// Answers and closes an exchange with a parcel of JSON without an envelope. Takes the parcel. NULL: there is no
// content.
void http_answer_parcel(struct shard *shard, struct exchange *exchange, unsigned status,
                        struct parcel *content);
// Makes the answer a stream of events, and adds an event. Takes the event, which has its envelope, and is a chunk
// unless http.is_1_0. The stream ends with exchange_close.
void http_stream(struct shard *shard, struct exchange *exchange, struct parcel *event);
// Answers and closes an exchange with the status of an error and a sentence about it.
void http_answer_fault(struct shard *shard, struct exchange *exchange, unsigned status, const char *fault);
// Removes an open exchange without an answer. It must be the connection's only exchange.
void http_discard(struct shard *shard, struct exchange *exchange);
// Queues a head of HTTP, perhaps with more text, as it is: the connection leaves HTTP. No exchange may be open. Returns
// false without memory: then the peer is closed.
bool http_leave(struct shard *shard, struct peer *peer, struct text *head);
// Begins a head: status line, date, and fields that all answers have.
void http_begin_head(struct shard *shard, struct text *head, unsigned status, const char *origin);
// Sends 100 Continue to a peer that waits for it, once all earlier requests have been answered.
void http_go_on(struct shard *shard, struct peer *peer);
// Implements peer_ops.leave: forgets the exchanges of a peer that is being closed.
void http_forget(struct shard *shard, struct peer *peer);
// Forgets the exchanges of a peer that is being closed, and ends the last request, which isn't being served.
void http_discard_unserved(struct shard *shard, struct peer *peer);

// --- Requests

// A request that is being served. The struct is on the stack of transport_http.codec.take.
struct http_call {
    struct peer *peer;
    const struct frame *frame;
    const uint8_t *head; // the first byte of the request
    struct http_request request;
    // The open exchange; the function that serves the request closes it, and may free it then
    struct exchange *exchange;
    bool has_gap; // bytes behind the request were discarded while it was deferred
};

// A whole request that waits, with its buffer.
struct http_deferred {
    struct buffer *buffer; // one reference
    uint32_t at;
    struct unit unit;
    uint32_t frames; // peer.frames when the request came, with the request itself
};

// State of an HTTP connection. The state stays when the connection changes to WebSocket or server-sent events.
struct http_peer {
    struct list exchanges; // struct exchange.by_peer, in the order of the requests
    uint32_t exchange_count;
    struct http_deferred *deferred; // a request that waits for the answers to all earlier requests; or NULL
    // Only for WebSocket: a ping waits for its answer.
    bool is_pinged;
    bool is_closed;               // a close frame was queued
    bool is_denied;               // the peer has shown no right credential, which its close frame says
    uint32_t pinged_ms;           // when the last ping was sent; a tick
    struct directives directives; // the fields of the upgrade's request, which hold for each message
};

// Returns the peer's state; NULL: the peer never used HTTP, or there was no memory, and the peer is being closed.
static inline struct http_peer *http_peer_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_HTTP);
}
