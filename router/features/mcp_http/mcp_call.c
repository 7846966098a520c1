#include "router/features/mcp_http/mcp_call.h"

#include <assert.h>
#include <string.h>

#include "core/rights/rights.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/gate/gate.h"
#include "router/features/gate/gate_hold.h"
#include "router/features/gate/gate_json.h"
#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_server.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/routing/route.h"

void mcp_call_watch(struct shard *shard, const struct mcp_client *client) {
    struct timer *timer = &client->seat->cold->timer;
    uint64_t keep_alive_ns = mcp_option(shard, MCP_OPTION_KEEP_ALIVE_NS),
             gather_ns = mcp_option(shard, MCP_OPTION_GATHER_NS),
             idle_ns = mcp_option(shard, MCP_OPTION_SESSION_IDLE_NS);
    uint64_t pause_ns = keep_alive_ns < gather_ns ? keep_alive_ns : gather_ns;
    if (client->kind != MCP_CLIENT_REQUEST && idle_ns < pause_ns)
        pause_ns = idle_ns;
    uint64_t at_ms = shard_now_ms(shard) + pause_ns / 1000000;
    if (!timer_armed(timer) || timer->due_ms > at_ms)
        wheel_arm(&shard->wheel, timer, at_ms);
}

struct mcp_call *mcp_call_begin(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http) {
    assert(shard->index == 0 && !client->is_closed && client->seat->state == PEER_OPEN);
    struct mcp_call *call = quota_take_zeroed(&shard->quota, 1, sizeof *call);
    struct exchange *exchange = call ? exchange_open(shard, client->seat) : NULL;
    if (!exchange) {
        quota_give(&shard->quota, call);
        return NULL;
    }
    *call = (struct mcp_call){
        .client = client, .exchange = exchange, .http = http, .began_ms = shard_now_ms(shard)};
    list_append(&client->calls, &call->link);
    exchange->inbound = call;
    exchange->is_mcp = true;
    if (http) {
        assert(!http->call && !http->listener);
        http->call = call;
        exchange->arrived_ms = http->sent_ms; // the time of arrival, as nothing was sent yet
    }
    client->used_ms = call->began_ms;
    mcp_call_watch(shard, client);
    return call;
}

void mcp_call_free(struct shard *shard, struct mcp_call *call) {
    assert(!call->exchange && !call->http);
    call->client->used_ms = shard_now_ms(shard);
    list_remove(&call->link);
    quota_give(&shard->quota, call);
}

// The request of a call: pending at a server, or held by the gate. Both members are NULL if the hub answers the call
// itself.
struct request {
    struct pending *pending;
    struct held_message *held;
};

static struct request request_of(struct shard *shard, const struct mcp_call *call) {
    const struct exchange *exchange = call->exchange;
    struct request request = {0};
    assert(!call->gather && exchange);
    if (exchange->hub_id)
        request.pending = pending_find(&shard->pending, exchange->hub_id);
    assert(!request.pending || request.pending->exchange == exchange);
    if (!request.pending && gate_of(shard))
        request.held = gate_hold_find_exchange(call->client->seat, exchange);
    return request;
}

void mcp_call_fail(struct shard *shard, struct mcp_call *call) {
    const struct mcp_client *client = call->client;
    struct request request = request_of(shard, call);
    struct text data;
    assert(client->name_bytes > 0 && (request.pending || request.held));
    if (request.held) {
        gate_hold_target_removed(shard, request.held, client->name, client->name_bytes);
        return;
    }
    if (!request.pending)
        return;
    text_init(&data);
    reply_data_string(&data, "agent", client->name, client->name_bytes);
    completion_error(shard, request.pending, ERROR_TARGET_DISCONNECTED, &data);
}

void mcp_call_fail_held(struct shard *shard, struct mcp_call *call) {
    char decoded[METHOD_BYTES_MAX];
    size_t bytes = 0;
    struct request request = call->gather ? (struct request){0} : request_of(shard, call);
    const char *target = request.held ? gate_json_target(request.held, decoded, &bytes) : NULL;
    assert(!target || bytes > 0);
    if (target && !mcp_server_section(shard, target, bytes))
        gate_hold_target_removed(shard, request.held, target, bytes);
}

void mcp_call_revoke(struct shard *shard, struct mcp_call *call) {
    struct request request = request_of(shard, call);
    struct text data;
    assert(shard->settings->users && !call->is_question);
    if (request.held) {
        gate_hold_revoke(shard, request.held);
        return;
    }
    if (!request.pending)
        return;
    text_init(&data);
    reply_data_text(&data, "rule", rule_text(RULE_CREDENTIAL));
    completion_error(shard, request.pending, ERROR_NOT_ALLOWED, &data);
}

void mcp_call_cancel(struct shard *shard, struct mcp_call *call) {
    if (call->client->seat->state != PEER_OPEN) // the end of that client ends the call
        return;
    struct request request = request_of(shard, call);
    if (request.held)
        gate_hold_abandon(shard, request.held);
    else if (request.pending)
        completion_give_up(shard, request.pending, false);
}

void mcp_call_cancel_and_answer(struct shard *shard, struct mcp_call *call) {
    struct request request = request_of(shard, call);
    assert(call->client->seat->state == PEER_OPEN && !call->is_question);
    if (request.held)
        gate_hold_cancel_answered(shard, request.held);
    else if (request.pending)
        completion_give_up(shard, request.pending, true);
}

// Routes the request of a call. The buffer holds the body alone.
static void send_frame(struct shard *shard, struct mcp_call *call, struct buffer *buffer,
                       const struct unit *unit) {
    struct message message;
    struct frame frame = frame_at(buffer, 0, unit);
    frame = route_set_user_header(shard, call->client->seat, &frame);
    message_begin(&message, call->client->seat, call->exchange);
    validate_look_up(shard, &message, &frame);
    assert(message.lookup.verdict == LOOKUP_GOOD && message.lookup.kind == BODY_REQUEST);
    validate_read_method(&message);
    message_narrow(&message);
    route_attached(shard, &message);
}

void mcp_call_send(struct shard *shard, struct mcp_call *call, const char *name, size_t bytes,
                   struct text *body, const struct directives *directives) {
    struct exchange *exchange = call->exchange;
    bool is_attached = peer_cold_attach(&shard->quota, call->client->seat->cold, name, bytes);
    uint32_t count = body->failed ? 0 : (uint32_t)body->length;
    struct buffer *buffer = count && is_attached ? buffer_take_sized(&shard->buffers, count) : NULL;
    struct unit unit = {.length_known = true, .bytes = count, .body_bytes = count};
    if (directives)
        unit.directives = *directives;
    if (buffer) {
        memcpy(buffer->bytes, body->bytes, count);
        send_frame(shard, call, buffer, &unit);
        buffer_drop(buffer);
    }
    text_deinit(body);
    exchange_close(shard, exchange);
}

void mcp_call_settle(struct shard *shard, struct mcp_call *call) {
    struct exchange *exchange = call->exchange;
    assert(exchange && exchange->inbound == call);
    call->exchange = NULL;
    exchange->inbound = NULL;
    exchange_close(shard, exchange);
}
