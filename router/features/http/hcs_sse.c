#include "router/features/http/hcs_sse.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/wire/sse.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/features/http/http_response.h"
#include "router/features/http/sse_transport.h"

static const struct transport transport_opening, transport_refused;

enum hcs_http_opening hcs_sse_open(struct shard *shard, struct peer *peer, const struct hcs_query *query,
                                   struct parcel **error) {
    const struct transport *http = peer->transport;
    assert(peer->annex->exchange_count == 1);
    receive_switch(shard, peer, &transport_opening);
    enum hcs_http_opening opening = hcs_http_open(shard, peer, query, error);
    if (opening != HCS_HTTP_JOINING)
        receive_switch(shard, peer, http);
    return opening;
}

// --- Events

// The place behind what the client has got by now: SESSION:SEQ, SESSION:- or SESSION:end.
static size_t put_place(char out[SSE_ID_BYTES_MAX], const struct streamed *streamed) {
    int count = snprintf(out, SSE_ID_BYTES_MAX, "%.*s:", (int)streamed->id_bytes, streamed->id);
    assert(count > 0 && count + 20 < SSE_ID_BYTES_MAX);
    char *at = out + count;
    if (streamed->ends)
        return (size_t)(stpcpy(at, "end") - out);
    if (!streamed->has_seq)
        return (size_t)(stpcpy(at, "-") - out);
    return (size_t)(at + text_digits(at, streamed->seq) - out);
}

// The place alone: no event, but what a client that comes back will name.
static void send_place(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    char place[SSE_ID_BYTES_MAX];
    size_t bytes = put_place(place, streamed);
    struct text text;
    text_init(&text);
    text_put(&text, "id: ");
    text_add(&text, place, bytes);
    text_put(&text, "\n\n");
    http_leave(shard, peer, &text);
}

// A session that never was has no place.
static void send_frame(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
    char head[SSE_HEAD_BYTES_MAX], place[SSE_ID_BYTES_MAX];
    bool has_place = peer->transport == &transport_hcs && streamed->id_bytes;
    size_t place_bytes = has_place ? put_place(place, streamed) : 0;
    size_t bytes = sse_head(head, streamed->type, has_place ? place : NULL, place_bytes);
    if (parcel_set_head(streamed->parcel, head, bytes)) {
        send_queue_owed(shard, peer, streamed->parcel);
        return;
    }
    send_release(shard, streamed->parcel);
    peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
}

static void hcs_streamed(struct shard *shard, struct peer *peer, const struct streamed *streamed) {
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

// --- Until it is known whether there is such a session

static struct exchange *asking(const struct peer *peer) {
    assert(peer->annex->exchange_count == 1);
    return list_entry(peer->annex->exchanges.next, struct exchange, by_peer);
}

static void answer_unknown(struct shard *shard, struct peer *peer, bool barred) {
    struct exchange *exchange = asking(peer);
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
    if (sse_begin(shard, peer, asking(peer), next))
        hcs_streamed(shard, peer, streamed);
    else if (streamed->kind == STREAMED_FRAME)
        send_release(shard, streamed->parcel);
}

// The same with a session and without: what says that there is none bears no place.
#define HCS_TRANSPORT                                                                                        \
    .wire = &wire_sse, .gauge = GAUGE_SSE, .enter = sse_enter, .expire = sse_expire,                         \
    .streamed = hcs_streamed, .end_is_leaving = true

const struct transport transport_hcs = {.name = "hcs", HCS_TRANSPORT};
static const struct transport transport_refused = {.name = "hcs refused", HCS_TRANSPORT};

static const struct transport transport_opening = {
    .name = "hcs opening",
    .wire = &wire_sse,
    .gauge = GAUGE_SSE,
    .respond = http_respond,
    .leave = http_forget_unserved,
    .streamed = opening_streamed,
    .end_is_leaving = true,
};
