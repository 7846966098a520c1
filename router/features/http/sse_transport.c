#include "router/features/http/sse_transport.h"

#include <assert.h>
#include <string.h>

#include "core/wire/http.h"
#include "core/wire/http_request.h"
#include "core/wire/sse.h"
#include "router/audit/audit.h"
#include "router/engine/receive/receive.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/http/http_response.h"
#include "router/registry/subscribe.h"
#include "router/rights/authz.h"

// --- The stream

bool sse_begin(struct shard *shard, struct peer *peer, struct exchange *exchange,
               const struct transport *transport) {
    struct text head;
    http_begin_head(shard, &head, 200, exchange->http.origin);
    text_put(&head, "Content-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    http_discard(shard, exchange);
    if (!http_leave(shard, peer, &head))
        return false;
    receive_switch(shard, peer, transport);
    return transport->ops.enter(shard, peer);
}

bool sse_enter(struct shard *shard, struct peer *peer) {
    wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + SSE_SILENCE_MS);
    return true;
}

// Sends a comment line, so that proxies don't close a silent stream. Sends nothing to a peer that hasn't taken earlier
// bytes.
void sse_expire(struct shard *shard, struct peer *peer) {
    struct text text;
    if (peer->state != PEER_OPEN)
        return;
    wheel_arm(&shard->wheel, &peer->cold->timer, shard_now_ms(shard) + SSE_SILENCE_MS);
    if (connection_waiting(&peer->connection))
        return;
    text_init(&text);
    text_put(&text, ":\n\n");
    http_leave(shard, peer, &text);
}

const struct transport transport_sse = {
    .name = "sse",
    .codec.wire = &wire_sse,
    .gauge = FEATURE_GAUGE(FEATURE_HTTP, HTTP_GAUGE_SSE),
    .ops.enter = sse_enter,
    .ops.expire = sse_expire,
    .codec.missed_head = "event: dropped\ndata: ",
    .end_is_leaving = true,
    .receives_only = true,
};

// --- /events

static const char forbidden_pattern[] = "subscribe";

static bool may_get(const struct shard *shard, const struct peer *peer,
                    const struct http_parameter *pattern) {
    const struct user *user = authz_user(shard, peer);
    return !user || authz_may_receive(user, pattern->value, pattern->value_bytes);
}

static const char *take_pattern(struct shard *shard, struct peer *peer,
                                const struct http_parameter *pattern) {
    if (!pattern_valid(pattern->value, pattern->value_bytes))
        return "a pattern has 1 to 255 bytes, and * at its end alone";
    if (!may_get(shard, peer, pattern))
        return forbidden_pattern;
    if (peer->subscriber.count == SUBSCRIPTIONS_PER_CONNECTION_MAX)
        return "too many patterns";
    return subscribe_pattern(shard, peer, pattern->value, pattern->value_bytes)
               ? NULL
               : "the hub has no room for more patterns";
}

static bool is_pattern(const struct http_parameter *parameter) {
    static const char name[] = "pattern";
    return parameter->name_bytes == sizeof name - 1 && memcmp(parameter->name, name, sizeof name - 1) == 0;
}

// Subscribes to all patterns of the query. Returns NULL, or the fault.
static const char *take_patterns(struct shard *shard, const struct http_call *call) {
    char decoded[HTTP_LINE_BYTES_MAX];
    struct http_parameter parameter;
    uint32_t at = 0;
    for (;;) {
        switch (http_parameter_next(call->head, call->request.line.query, &at, decoded, sizeof decoded,
                                    &parameter)) {
        case HTTP_PARAMETER: {
            const char *fault = is_pattern(&parameter) ? take_pattern(shard, call->peer, &parameter) : NULL;
            if (fault)
                return fault;
            break;
        }
        case HTTP_PARAMETERS_END:
            return call->peer->subscriber.count ? NULL : "pattern must be given";
        default:
            return "the query can't be read";
        }
    }
}

void sse_events(struct shard *shard, struct http_call *call) {
    const char *fault = take_patterns(shard, call);
    bool forbidden = fault == forbidden_pattern;
    if (!fault) {
        sse_begin(shard, call->peer, call->exchange, &transport_sse);
        return;
    }
    subscribe_forget(shard, call->peer);
    call->exchange->http.closes = true;
    if (forbidden)
        audit_refused_request(shard, call->peer, "/events", RULE_SUBSCRIBE);
    http_answer_fault(shard, call->exchange, forbidden ? 403 : 400, fault);
}
