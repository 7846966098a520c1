#include "router/features/mcp_http/mcp_modern_call.h"

#include <assert.h>

#include "core/base/text.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/features/children/child_record.h"
#include "router/features/mcp_http/mcp_answer.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_client.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_stream.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/routing/route.h"

// --- Clients

static bool has_instance(const struct shard *shard, const char *name, size_t bytes) {
    const struct child_record *record = child_record_find(shard->hub, name, bytes);
    assert(shard->index == 0);
    return record && child_record_is_each(record);
}

struct mcp_client *mcp_modern_call_client(struct shard *shard, const struct user *user, const char *name,
                                          size_t bytes) {
    assert(shard->index == 0);
    if (!has_instance(shard, name, bytes))
        return mcp_client_create(shard, MCP_CLIENT_REQUEST, user, name, bytes);
    struct mcp_client *client = mcp_table_find_user(shard, user, name, bytes);
    if (client || !mcp_table_has_room(shard, user))
        return client;
    client = mcp_client_create(shard, MCP_CLIENT_USER, user, name, bytes);
    if (client && !mcp_table_add(shard, client)) {
        mcp_table_close(shard, client);
        return NULL;
    }
    return client;
}

struct mcp_client *mcp_modern_call_client_for(struct shard *shard, struct mcp_client *own, const char *name,
                                              size_t bytes) {
    assert(own->kind == MCP_CLIENT_REQUEST);
    return has_instance(shard, name, bytes) ? mcp_modern_call_client(shard, own->user, name, bytes) : own;
}

void mcp_modern_call_rest(struct shard *shard, struct mcp_client *client) {
    if (client->kind == MCP_CLIENT_REQUEST && list_empty(&client->calls) && !client->is_closed)
        mcp_table_close(shard, client);
}

struct mcp_call *mcp_modern_call_move(struct shard *shard, struct mcp_call *call, const char *name,
                                      size_t bytes) {
    assert(shard->index == 0 && !call->gather);
    struct mcp_client *client = call->client, *other = NULL;
    struct mcp_exchange *http = call->http;
    if (call->is_modern && has_instance(shard, name, bytes))
        other = mcp_modern_call_client(shard, client->user, name, bytes);
    struct mcp_call *moved = other ? mcp_call_begin(shard, other, NULL) : NULL;
    if (!moved)
        return call;
    moved->answered = call->answered;
    moved->is_modern = true;
    moved->takes_json = call->takes_json;
    moved->takes_events = call->takes_events;
    moved->logs = call->logs;
    moved->exchange->arrived_ms = call->exchange->arrived_ms;
    moved->http = http;
    call->http = NULL;
    if (http)
        http->call = moved;
    mcp_call_settle(shard, call);
    mcp_call_free(shard, call);
    mcp_modern_call_rest(shard, client);
    return moved;
}

// --- Requests

static void answered(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    struct mcp_client *client = call->client;
    assert(call->is_modern);
    mcp_answer_give(shard, call, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
    mcp_modern_call_rest(shard, client);
}

static void refuse(struct shard *shard, const struct mcp_post *post, unsigned status, const char *fault) {
    assert(shard->index == 0);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", fault);
    if (status == 503)
        mcp_reply_later(shard, post, status, 1000, &data);
    else
        mcp_reply_error(shard, post, status, ERROR_INVALID_REQUEST, &data);
}

static void set_source(struct shard *shard, struct mcp_post *post, struct mcp_client *client) {
    assert(shard->index == 0);
    mcp_post_frame(post);
    post->message.peer = client->seat;
    post->frame = route_set_user_header(shard, client->seat, &post->frame);
}

static void ask(struct shard *shard, struct mcp_post *post, struct mcp_client *client) {
    assert(shard->index == 0);
    struct mcp_call *call = mcp_call_begin(shard, client, post->exchange);
    if (!call) {
        refuse(shard, post, 503, "there is no memory for the request");
        mcp_modern_call_rest(shard, client);
        return;
    }
    struct exchange *exchange = call->exchange;
    call->answered = answered;
    call->is_modern = true;
    call->is_list = message_method_is(&post->message, "tools/list");
    call->is_first_page = post->params[MCP_PARAM_CURSOR].type == JSON_NONE;
    call->is_listen = post->method == MCP_LISTEN;
    call->logs = post->meta[MCP_POST_LOG_LEVEL].type == JSON_STRING;
    call->takes_json = post->takes_json;
    call->takes_events = post->takes_events;
    set_source(shard, post, client);
    post->message.exchange = exchange;
    route_attached(shard, &post->message);
    exchange_close(shard, exchange);
}

// Forwards a notification, but drops a cancel: a client of the modern era cancels a request by closing its connection.
static void take_notification(struct shard *shard, struct mcp_post *post, struct mcp_client *client) {
    assert(shard->index == 0);
    struct mcp_exchange *exchange = post->exchange;
    if (client && post->method != MCP_CANCELLED) {
        set_source(shard, post, client);
        route_attached(shard, &post->message);
    }
    if (client)
        mcp_modern_call_rest(shard, client);
    mcp_reply_status(shard, exchange, 202, NULL);
}

void mcp_modern_call_post(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes) {
    bool is_request = post->message.lookup.kind == BODY_REQUEST;
    assert(shard->index == 0 && post->head);
    if (post->method == MCP_LISTEN && !post->takes_events) {
        refuse(shard, post, 406, "the answer is text/event-stream");
        return;
    }
    struct mcp_client *client = mcp_modern_call_client(shard, post->exchange->user, name, bytes);
    if (!client && is_request)
        refuse(shard, post, 503, "there is no room for one more client");
    else if (is_request)
        ask(shard, post, client);
    else
        take_notification(shard, post, client);
}

// --- The end of a subscription

void mcp_modern_call_part(struct shard *shard, struct mcp_call *call) {
    const struct pending *pending =
        call->exchange->hub_id ? pending_find(&shard->pending, call->exchange->hub_id) : NULL;
    struct text body;
    assert(call->is_listen);
    if (pending && call->http) {
        text_init(&body);
        text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
        text_add(&body, pending_id(pending), pending->id_bytes);
        text_put(&body, ",\"result\":{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/"
                        "subscriptionId\":");
        text_add(&body, pending_id(pending), pending->id_bytes);
        text_put(&body, "}}}");
        struct parcel *parcel =
            body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
        if (parcel)
            mcp_stream_answer(shard, call, parcel, 200, NULL);
        else
            text_deinit(&body);
    }
    mcp_call_cancel(shard, call);
}
