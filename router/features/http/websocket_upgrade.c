#include <assert.h>
#include <string.h>

#include "core/wire/websocket_key.h"
#include "router/engine/receive/receive.h"
#include "router/engine/shard/annex.h"
#include "router/features/http/http_response.h"
#include "router/features/http/websocket_transport.h"

static const char subprotocol[] = "hugai.v2";

// Refuses an upgrade that can't be done as it is asked for; 426 says how it can.
static void refuse_upgrade(struct shard *shard, struct http_call *call, const char *fault) {
    call->exchange->http.fields = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    call->exchange->http.closes = true;
    http_answer_fault(shard, call->exchange, 426, fault);
}

static void refuse_bad(struct shard *shard, struct http_call *call, const char *fault) {
    call->exchange->http.closes = true;
    http_answer_fault(shard, call->exchange, 400, fault);
}

bool websocket_asked(const struct http_call *call) {
    const struct unit *unit = call->frame->unit;
    return !call->request.is_1_0 && http_lists(call->head, unit, HTTP_UPGRADE, "websocket") &&
           http_lists(call->head, unit, HTTP_CONNECTION, "upgrade");
}

static bool directives_good(const struct directives *directives) {
    return directives->version != VERSION_OTHER && !directives->governance_bad && !directives->timeout_bad;
}

// Writes the proof that the request was read; NULL, or what is wrong with it.
static const char *fault_of(const struct http_call *call, char accept[WEBSOCKET_ACCEPT_BYTES]) {
    struct span key = call->request.fields[HTTP_SEC_WEBSOCKET_KEY];
    if (http_repeated(&call->request, HTTP_SEC_WEBSOCKET_KEY) ||
        !websocket_accept(call->head + key.at, key.bytes, accept))
        return "Sec-WebSocket-Key must be 16 bytes in base64";
    if (http_repeated(&call->request, HTTP_SEC_WEBSOCKET_VERSION))
        return "Sec-WebSocket-Version may occur once only";
    if (call->has_gap) // RFC 6455, 4.1: and what came can't be told from what comes
        return "who asks for an upgrade waits for the answer before it says more";
    if (call->frame->unit->body_bytes)
        return "a request for an upgrade has no content";
    if (!directives_good(&call->frame->unit->directives))
        return "HugAI-Version must be 2, Governance-Level a level, Custom-Timeout-Ms 1 to 3600000";
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
    const char *fault = websocket_asked(call) ? NULL : "this path speaks WebSocket";
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
    peer->annex->directives = call->frame->unit->directives;
    http_discard(shard, call->exchange);
    if (!http_leave(shard, peer, &head))
        return;
    receive_switch(shard, peer, &transport_websocket);
    transport_websocket.enter(shard, peer);
}
