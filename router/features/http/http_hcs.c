#include "router/features/http/http_hcs.h"

#include <assert.h>
#include <string.h>

#include "core/hcs/last_event_id.h"
#include "core/wire/http.h"
#include "core/wire/http_block.h"
#include "core/wire/http_request.h"
#include "core/wire/sse.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/hcs/hcs_ingress.h"
#include "router/features/http/http_response.h"
#include "router/features/http/http_rpc.h"
#include "router/features/http/sse_transport.h"
#include "router/routing/route.h"

// --- A client's stream
//
// The stream of a session's client: server-sent events. Each event has the frame's type, and a place from which the
// client can resume (Last-Event-ID).

static const struct transport transport_hcs;

static const struct transport transport_opening, transport_refused;
static hcs_streamed on_streamed;

// Asks for a session for the connection's only request. Returns HCS_HTTP_OPENING if the request will be answered, or
// has been. After other results of hcs_http_open the peer still has the HTTP transport.
static enum hcs_http_opening hcs_sse_open(struct shard *shard, struct peer *peer,
                                          const struct hcs_query *query, struct parcel **error) {
    const struct transport *http = peer->transport;
    assert(http_peer_of(peer)->exchange_count == 1);
    receive_switch(shard, peer, &transport_opening);
    enum hcs_http_opening opening = hcs_http_open(shard, peer, query, on_streamed, error);
    if (opening != HCS_HTTP_OPENING)
        receive_switch(shard, peer, http);
    return opening;
}

// --- Events

// Writes the place behind the last chunk that the client has got: SESSION:SEQ, SESSION:- or SESSION:end.
static size_t put_place(char out[LAST_EVENT_ID_BYTES_MAX], const struct streamed *streamed) {
    enum session_place place = streamed->ends ? PLACE_END : streamed->has_seq ? PLACE_BEHIND : PLACE_BEGIN;
    static_assert((int)LAST_EVENT_ID_BYTES_MAX == (int)SSE_ID_BYTES_MAX, "a place is an event's id");
    return last_event_id_write(out, streamed->id, streamed->id_bytes, place, streamed->seq);
}

// Sends a place without an event, so that a client can resume from it.
static void send_place(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    char place[LAST_EVENT_ID_BYTES_MAX];
    size_t bytes = put_place(place, streamed);
    struct text text;
    text_init(&text);
    text_put(&text, "id: ");
    text_add(&text, place, bytes);
    text_put(&text, "\n\n");
    http_leave(shard, peer, &text);
}

// Sends a frame as an event. Without a session the event has no place.
static void send_frame(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    char head[SSE_HEAD_BYTES_MAX], place[LAST_EVENT_ID_BYTES_MAX];
    bool has_place = peer->transport == &transport_hcs && streamed->id_bytes;
    size_t place_bytes = has_place ? put_place(place, streamed) : 0;
    size_t bytes = sse_head(head, streamed->type, has_place ? place : NULL, place_bytes);
    if (parcel_set_head(streamed->parcel, head, bytes)) {
        send_queue_required(shard, peer, streamed->parcel);
        return;
    }
    send_release(shard, streamed->parcel);
    peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static void tell(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    switch (streamed->kind) {
    case STREAMED_OPEN:
        send_place(shard, peer, streamed);
        break;
    case STREAMED_FRAME:
        send_frame(shard, peer, streamed);
        break;
    case STREAMED_UNKNOWN:
    case STREAMED_BARRED:
    case STREAMED_OVER:
        peer_linger(shard, peer);
        break;
    }
}

// --- Before the session is known

static struct exchange *owner_name(const struct peer *peer) {
    assert(http_peer_of(peer)->exchange_count == 1);
    return list_entry(http_peer_of(peer)->exchanges.next, struct exchange, by_peer);
}

static void answer_unknown(struct shard *shard, struct peer *peer, bool barred) {
    struct exchange *exchange = owner_name(peer);
    exchange->http.closes = true;
    if (barred)
        http_answer_fault(shard, exchange, 403, "capability not allowed: call");
    else
        http_answer_fault(shard, exchange, 404, "there is no such session");
}

static void opening_streamed(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    if (streamed->kind == STREAMED_UNKNOWN || streamed->kind == STREAMED_BARRED) {
        answer_unknown(shard, peer, streamed->kind == STREAMED_BARRED);
        return;
    }
    const struct transport *next = streamed->kind == STREAMED_OPEN ? &transport_hcs : &transport_refused;
    if (sse_begin(shard, peer, owner_name(peer), next))
        tell(shard, peer, streamed);
    else if (streamed->kind == STREAMED_FRAME)
        send_release(shard, streamed->parcel);
}

// The fields of two transports: transport_hcs for a session, and transport_refused for an error that refuses one, whose
// event has no place.
#define HCS_TRANSPORT                                                                                        \
    .codec.wire = &wire_sse, .gauge = FEATURE_GAUGE(FEATURE_HTTP, HTTP_GAUGE_SSE), .ops.enter = sse_enter,   \
    .ops.expire = sse_expire, .end_is_leaving = true

static const struct transport transport_hcs = {.name = "hcs", HCS_TRANSPORT};
static const struct transport transport_refused = {.name = "hcs refused", HCS_TRANSPORT};

static const struct transport transport_opening = {
    .name = "hcs opening",
    .codec.wire = &wire_sse,
    .gauge = FEATURE_GAUGE(FEATURE_HTTP, HTTP_GAUGE_SSE),
    .codec.respond = http_respond,
    .ops.leave = http_discard_unserved,
    .end_is_leaving = true,
};

static void on_streamed(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    if (peer->transport == &transport_opening)
        opening_streamed(shard, peer, streamed);
    else
        tell(shard, peer, streamed);
}

// --- Frames of a client

static void answer_with(struct shard *shard, struct exchange *exchange, unsigned status,
                        struct parcel *frame) {
    exchange->http.status = (uint16_t)status;
    exchange_expect(exchange);
    exchange_answer(shard, exchange, frame);
    exchange_close(shard, exchange);
}

static void posted(struct shard *shard, struct peer *peer, void *context, struct parcel *error) {
    struct exchange *exchange = context;
    if (peer && error) {
        answer_with(shard, exchange, 400, error);
        return;
    }
    exchange->http.status = 202;
    exchange_close(shard, exchange);
}

static void post(struct shard *shard, struct http_call *call) {
    struct peer *peer = call->peer;
    struct buffer *buffer = call->frame->buffer;
    if (!http_rpc_takes(call)) {
        http_answer_fault(shard, call->exchange, 415, "the content must be application/json");
        return;
    }
    if (peer->unit.body_bytes == 0) {
        struct parcel *error = hcs_http_refuse(shard, &(struct hcs_query){0}, "this is no frame");
        if (error)
            answer_with(shard, call->exchange, 400, error);
        else
            http_answer(shard, call->exchange, 503, NULL, NULL);
        return;
    }
    uint32_t at = call->frame->at + http_make_framed(buffer->bytes + call->frame->at, &peer->unit);
    struct frame frame = frame_at(buffer, at, &peer->unit), own = route_set_user_header(shard, peer, &frame);
    hcs_http_post(shard, peer, &own, posted, call->exchange);
}

// --- Requests of a client

enum { UNKNOWN_MAX = 32 };

// Names of unknown parameters, which are ignored. Each may occur once.
struct unknown {
    struct piece names[UNKNOWN_MAX];
    size_t count;
};

struct query_field {
    const char *name;
    const char **text;
    uint32_t *bytes;
};

static bool read_seq(const char *text, uint32_t bytes, uint64_t *seq) {
    const uint64_t max = (UINT64_C(1) << 53) - 1;
    *seq = 0;
    for (uint32_t at = 0; at < bytes; at++) {
        if (text[at] < '0' || text[at] > '9' || *seq > max / 10)
            return false;
        *seq = *seq * 10 + (uint64_t)(text[at] - '0');
    }
    return bytes > 0 && *seq <= max;
}

static const char *take_unknown(struct unknown *unknown, const struct http_parameter *parameter) {
    for (size_t at = 0; at < unknown->count; at++)
        if (unknown->names[at].count == parameter->name_bytes &&
            memcmp(unknown->names[at].bytes, parameter->name, parameter->name_bytes) == 0)
            return "a parameter may occur once only";
    if (unknown->count == UNKNOWN_MAX)
        return "so many parameters mean nothing";
    unknown->names[unknown->count++] = (struct piece){parameter->name, parameter->name_bytes};
    return NULL;
}

static const char *take_parameter(const struct query_field *fields, size_t count, struct unknown *unknown,
                                  const struct http_parameter *parameter) {
    for (size_t index = 0; index < count; index++) {
        if (strlen(fields[index].name) != parameter->name_bytes ||
            memcmp(fields[index].name, parameter->name, parameter->name_bytes) != 0)
            continue;
        if (*fields[index].text)
            return "a parameter may occur once only";
        *fields[index].text = parameter->value;
        *fields[index].bytes = parameter->value_bytes;
        return NULL;
    }
    return take_unknown(unknown, parameter);
}

// Reads the query into texts in `decoded`, which has room for all of them. Returns NULL, or the fault.
static const char *read_query(const struct http_call *call, char decoded[HTTP_LINE_BYTES_MAX],
                              struct hcs_query *query) {
    const char *after = NULL;
    uint32_t at = 0, used = 0, after_bytes = 0;
    const struct query_field fields[] = {
        {"request_id", &query->request_id, &query->request_id_bytes},
        {"session_id", &query->session_id, &query->session_id_bytes},
        {"user_id", &query->user_id, &query->user_id_bytes},
        {"target", &query->target, &query->target_bytes},
        {"after_seq", &after, &after_bytes},
    };
    struct http_parameter parameter;
    struct unknown unknown = {.count = 0};
    const char *fault = NULL;
    enum http_parameter_step step;
    while (!fault &&
           (step = http_parameter_next(call->head, call->request.line.query, &at, decoded + used,
                                       HTTP_LINE_BYTES_MAX - used, &parameter)) != HTTP_PARAMETERS_END) {
        fault = step == HTTP_PARAMETER
                    ? take_parameter(fields, sizeof fields / sizeof *fields, &unknown, &parameter)
                    : "the query can't be read";
        used += step == HTTP_PARAMETER ? parameter.name_bytes + parameter.value_bytes : 0;
    }
    query->has_after = after != NULL;
    if (!fault && after && !read_seq(after, after_bytes, &query->after_seq))
        fault = "after_seq is a whole number";
    return fault;
}

static const char *read_request(const struct http_call *call, char decoded[HTTP_LINE_BYTES_MAX],
                                struct hcs_query *query) {
    const struct directives *directives = &call->frame->unit->directives;
    struct span place = call->request.fields[HTTP_LAST_EVENT_ID];
    *query = (struct hcs_query){.required = directives->governance};
    if (http_has_field(&call->request, HTTP_LAST_EVENT_ID)) {
        query->last_event_id = (const char *)call->head + place.at;
        query->last_event_id_bytes = place.bytes;
    }
    const char *fault = read_query(call, decoded, query);
    if (!fault && directives->governance_bad)
        fault = "Governance-Level must be a level";
    if (!fault && http_repeated(&call->request, HTTP_LAST_EVENT_ID))
        fault = "Last-Event-ID may occur once only";
    return fault;
}

static void answer_unopened(struct shard *shard, struct exchange *exchange, enum hcs_http_opening opening,
                            struct parcel *error) {
    unsigned status = opening == HCS_HTTP_AT_END       ? 204
                      : opening == HCS_HTTP_FORBIDDEN  ? 403
                      : opening == HCS_HTTP_OVERLOADED ? 503
                                                       : 400;
    if (error) {
        answer_with(shard, exchange, status, error);
    } else if (status == 204) {
        exchange->http.status = 204;
        exchange_close(shard, exchange);
    } else {
        http_answer(shard, exchange, status, NULL, NULL);
    }
}

static void get(struct shard *shard, struct http_call *call) {
    char decoded[HTTP_LINE_BYTES_MAX];
    struct hcs_query query;
    struct parcel *error = NULL;
    const char *fault = read_request(call, decoded, &query);
    enum hcs_http_opening opening = HCS_HTTP_BAD_QUERY;
    if (fault)
        error = hcs_http_refuse(shard, &query, fault);
    else
        opening = hcs_sse_open(shard, call->peer, &query, &error);
    if (opening != HCS_HTTP_OPENING)
        answer_unopened(shard, call->exchange, opening, error);
}

void http_hcs(struct shard *shard, struct http_call *call) {
    if (call->request.method == HTTP_POST)
        post(shard, call);
    else
        get(shard, call);
}
