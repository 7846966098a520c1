#include "router/features/http/http_transport.h"

#include <assert.h>

#include "core/wire/http.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/reply.h"
#include "router/engine/shard/option.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/http/http_allow.h"
#include "router/features/http/http_authn.h"
#include "router/features/http/http_origin.h"
#include "router/features/http/http_response.h"
#include "router/features/http/http_routes.h"

static const struct transport transport_deferring;

// --- A request

static void preflight(struct shard *shard, const struct http_call *call, const struct http_route *route) {
    struct exchange *exchange = call->exchange;
    exchange->http.fields =
        "Access-Control-Allow-Methods: GET, HEAD, POST\r\n"
        "Access-Control-Allow-Headers: Authorization, Content-Type, HugAI-Version, Governance-Level, "
        "Request-Id, Custom-Timeout-Ms, Custom-Idle-Timeout-Ms, Last-Event-ID\r\nAccess-Control-Max-Age: "
        "600\r\n";
    if (route->preflight)
        route->preflight(call);
    exchange->http.status = 204;
    exchange_close(shard, exchange);
}

// Returns whether too many requests wait on one connection, or their exchanges take more than the connection's share of
// the quota.
static bool is_crowded(const struct shard *shard, const struct peer *peer) {
    uint32_t count = http_peer_of(peer)->exchange_count;
    return count > HTTP_PIPELINED_MAX ||
           !quota_is_fair(&shard->quota, (uint64_t)count * sizeof(struct exchange));
}

// Defers a request that changes the protocol until all earlier requests have been answered. Later bytes are discarded.
static void defer(struct shard *shard, struct http_call *call) {
    struct http_deferred *deferred = quota_take(&shard->quota, sizeof *deferred);
    if (!deferred) {
        call->exchange->http.closes = true;
        http_answer(shard, call->exchange, 503, NULL, NULL);
        return;
    }
    buffer_hold(call->frame->buffer);
    *deferred = (struct http_deferred){call->frame->buffer, call->frame->at, *call->frame->unit,
                                       call->peer->frames + 1};
    assert(!http_peer_of(call->peer)->deferred);
    http_peer_of(call->peer)->deferred = deferred;
    receive_switch(shard, call->peer, &transport_deferring);
}

// Returns whether the request may be served for its user. If not, the request has been answered, or will be.
static bool is_served(struct shard *shard, struct http_call *call, const struct http_route *route,
                      const char *fault) {
    struct exchange *exchange = call->exchange;
    if (is_crowded(shard, call->peer)) {
        exchange->http.closes = true;
        http_answer_fault(shard, exchange, 503, "too many requests wait on this connection");
    } else if (fault) {
        http_answer_fault(shard, exchange, 403, fault);
    } else if (shard->phase != HUB_SERVING && !(route && route->serves_drain)) {
        exchange->http.closes = true;
        http_answer_fault(shard, exchange, 503, "the hub is about to end");
    } else if (route && call->request.method == HTTP_OPTIONS && exchange->http.origin) {
        preflight(shard, call, route);
    } else {
        return http_admit(shard, call, route);
    }
    return false;
}

static bool must_wait(const struct http_call *call, const struct http_route *route) {
    return route && route->takes_over && call->request.method == HTTP_GET &&
           http_peer_of(call->peer)->exchange_count > 1;
}

static void serve(struct shard *shard, struct http_call *call, const struct http_route *route) {
    struct exchange *exchange = call->exchange;
    if (!route) {
        http_answer(shard, exchange, 404, NULL, NULL);
    } else if (!http_route_takes(route, call->request.method)) {
        exchange->http.fields = http_route_allow(route);
        http_answer(shard, exchange, 405, NULL, NULL);
    } else if (http_admit_to(shard, call, route)) {
        route->serve(shard, call);
    }
}

static void dispatch(struct shard *shard, struct http_call *call) {
    const struct http_origin guard = http_origin_check(shard, call->head, &call->request);
    const struct http_route *route = http_route_find(call->head, call->request.line.path);
    call->exchange->http.origin = guard.origin;
    call->exchange->http.uses_bearer = route && route->uses_bearer;
    bool served = is_served(shard, call, route, guard.fault), waits = served && must_wait(call, route);
    if (waits) {
        defer(shard, call);
    } else {
        http_erase_credential(call);
        if (served)
            serve(shard, call, route);
    }
    if (served)
        http_forget_user(call->peer);
}

// Stops reading behind a request whose answer closes the connection. If the answer is sent already, the peer lingers.
static void stop_reading(struct shard *shard, struct peer *peer) {
    const struct list *exchanges = &http_peer_of(peer)->exchanges;
    if (peer->state != PEER_OPEN || peer->transport != &transport_http || list_empty(exchanges))
        return;
    if (list_entry(exchanges->prev, struct exchange, by_peer)->http.closes)
        peer_ended(shard, peer);
}

static void http_take(struct shard *shard, struct peer *peer, struct frame *frame) {
    struct http_call call = {.peer = peer, .frame = frame, .head = frame->buffer->bytes + frame->at};
    stats_count(&shard->stats, FEATURE_COUNTER(FEATURE_HTTP, HTTP_COUNT_REQUESTS));
    http_read(call.head, frame->unit, &call.request);
    peer->cold->is_awaiting_continue =
        false; // the body has come, so the client doesn't wait for 100 Continue
    call.exchange = http_open(shard, peer);
    if (!call.exchange)
        return;
    call.exchange->http = (struct http_note){.head_only = call.request.method == HTTP_HEAD,
                                             .closes = !call.request.keep_alive,
                                             .is_1_0 = call.request.is_1_0};
    dispatch(shard, &call);
    stop_reading(shard, peer);
}

// Serves a deferred request, when all earlier requests have been answered.
static void http_resume(struct shard *shard, struct peer *peer) {
    struct http_peer *own = http_peer_of(peer);
    struct http_deferred *deferred = own->deferred;
    if (peer->state != PEER_OPEN || !deferred)
        return;
    assert(own->exchange_count == 1);
    own->deferred = NULL;
    receive_switch(shard, peer, &transport_http);
    struct frame frame = frame_at(deferred->buffer, deferred->at, &deferred->unit);
    struct http_call call = {.peer = peer, .frame = &frame, .head = frame.buffer->bytes + frame.at};
    call.has_gap = peer->frames != deferred->frames;
    http_read(call.head, frame.unit, &call.request);
    call.exchange = list_entry(own->exchanges.next, struct exchange, by_peer);
    call.exchange->http.closes = true;
    dispatch(shard, &call);
    stop_reading(shard, peer);
    buffer_drop(deferred->buffer);
    quota_give(&shard->quota, deferred);
}

// --- Unreadable requests

static void http_refuse(struct shard *shard, struct peer *peer) {
    enum unit_fault fault = peer->unit.fault;
    struct exchange *exchange = http_open(shard, peer);
    if (!exchange)
        return;
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", unit_fault_text(fault));
    reply_data_number(&data, "offset", peer->unit.fault_at);
    exchange->http = (struct http_note){.status = (uint16_t)http_status_of(fault), .closes = true};
    exchange_expect(exchange);
    reply_error(shard, peer, (struct reply_to){.exchange = exchange},
                unit_fault_is_limit(fault) ? ERROR_FRAME_TOO_LARGE : ERROR_PARSE, &data);
    exchange_close(shard, exchange);
    if (peer->state == PEER_OPEN)
        peer_ended(shard, peer);
}

// Handles Expect: 100-continue.
static void http_skip(struct shard *shard, struct peer *peer, const uint8_t *bytes) {
    (void)bytes;
    peer->cold->is_awaiting_continue = true;
    http_go_on(shard, peer);
}

// --- Idle time

static bool http_enter(struct shard *shard, struct peer *peer) {
    struct http_peer *own = peer_state_take(shard, peer, FEATURE_HTTP, sizeof *own);
    if (!own)
        return false;
    list_init(&own->exchanges);
    wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + HTTP_IDLE_MS);
    return true;
}

// Closes a connection that has been idle for HTTP_IDLE_MS. While a request or its answer is in progress the connection
// isn't idle. Afterwards it gets the whole time again.
static void http_expire(struct shard *shard, struct peer *peer) {
    uint32_t idle_ms = shard_since(shard, peer->received_ms),
             waiting_ms = shard_since(shard, peer->sending_ms);
    uint32_t remaining_ms = HTTP_IDLE_MS;
    if (waiting_ms < idle_ms)
        idle_ms = waiting_ms;
    bool waits = http_peer_of(peer)->exchange_count > 0 || connection_waiting(&peer->connection) > 0;
    bool is_idle = peer->state == PEER_OPEN && !peer->partial && !waits;
    if (is_idle && idle_ms >= HTTP_IDLE_MS) {
        peer_close(shard, peer, COUNT_CLOSED_IDLE);
        return;
    }
    if (is_idle)
        remaining_ms -= idle_ms;
    wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + remaining_ms);
}

const struct transport transport_http = {
    .name = "http",
    .option = "http",
    .codec.wire = &wire_http,
    .gauge = FEATURE_GAUGE(FEATURE_HTTP, HTTP_GAUGE_HTTP),
    .ops.enter = http_enter,
    .codec.take = http_take,
    .codec.take_control = http_skip,
    .codec.refuse = http_refuse,
    .codec.respond = http_respond,
    .ops.leave = http_forget,
    .ops.expire = http_expire,
    .ops.end = http_end,
    .codec.admits = http_admits,
    .end_is_leaving = true,
    .serves_drain = true,
    .answers_only = true,
};

static const struct transport transport_deferring = {
    .name = "http deferring",
    .codec.wire = &wire_sse, // this wire reads nothing
    .gauge = FEATURE_GAUGE(FEATURE_HTTP, HTTP_GAUGE_HTTP),
    .codec.respond = http_respond,
    .ops.leave = http_discard_unserved,
    .ops.expire = http_resume,
    .end_is_leaving = true,
    .answers_only = true,
};

// --- The registration

static void describe_hub(const struct shard *shard, struct text *out) {
    text_put(out, http_site_of(shard)->host[0] ? ",\"http\":true" : "");
}

static const struct stats_row http_counters[HTTP_COUNTERS + 1] = {
    [HTTP_COUNT_REQUESTS] = {"http_requests_received", "http_requests_received_total", NULL,
                             "Requests of HTTP.", STATS_AFTER(COUNT_FRAMES_RECEIVED)},
};

static const struct stats_row http_gauges[HTTP_GAUGES + 1] = {
    [HTTP_GAUGE_HTTP] = {"http", "connections", "transport=\"http\"", NULL, STATS_AFTER(GAUGE_LINES)},
    [HTTP_GAUGE_WEBSOCKET] = {"websocket", "connections", "transport=\"websocket\"", NULL,
                              STATS_AFTER(GAUGE_LINES)},
    [HTTP_GAUGE_SSE] = {"sse", "connections", "transport=\"sse\"", NULL, STATS_AFTER(GAUGE_LINES)},
};

static const struct option http_options[] = {
    {"http", OPTION_ADDRESS, OPTIONS_LISTENERS, 0, 0, 0, 0, 0, NULL, "HOST:PORT", "127.0.0.1:7412",
     "127.0.0.1:7412, or off where --listen is given",
     "serve HTTP and WebSocket here; https://HOST:PORT serves them over TLS; off serves neither"},
    {"allow-host", OPTION_PARSED, OPTIONS_LISTENERS, OPTION_REPEATS | OPTION_RELOADS | OPTION_SHOWN,
     OPTION_FIELD(hosts), 0, 0, NULL, "NAME", NULL, NULL,
     "accept this name in HTTP's Host field, besides the address served and localhost; ports are "
     "ignored, in both; repeatable"},
    {"allow-origin", OPTION_PARSED, OPTIONS_LISTENERS, OPTION_REPEATS | OPTION_RELOADS | OPTION_SHOWN,
     OPTION_FIELD(origins), 0, 0, NULL, "ORIGIN", NULL, NULL,
     "let web pages of SCHEME://HOST[:PORT] use the hub, besides the hub's own pages; repeatable"},
    {.name = NULL},
};

static const struct transport *const http_transports[] = {&transport_http, NULL};

const struct feature http_feature = {
    .name = "http",
    .transports = http_transports,
    .options = http_options,
    .read_option = http_allow_read_option,
    .counters = http_counters,
    .gauges = http_gauges,
    .stats_order = 1,
    .hub_bytes = sizeof(struct http_site),
    .address_served = http_origin_note_address,
    .describe_hub = describe_hub,
};
