#include "router/features/mcp_http/mcp_session.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/send/exchange.h"
#include "router/features/mcp_http/mcp_all.h"
#include "router/features/mcp_http/mcp_answer.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_client.h"
#include "router/features/mcp_http/mcp_history.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_stream.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/forwarding/forward.h"
#include "router/methods/cancel_request.h"
#include "router/rights/authn.h"
#include "router/routing/route.h"

enum { RETRY_MS = 1000 };

static void refuse(struct shard *shard, const struct mcp_post *post, unsigned status, enum error error,
                   const char *fault) {
    assert(shard->index == 0);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", fault);
    if (error == ERROR_OVERLOADED)
        mcp_reply_later(shard, post, status, RETRY_MS, &data);
    else
        mcp_reply_error(shard, post, status, error, &data);
}

// --- Finding the session

static bool is_elsewhere(const struct mcp_client *session, const struct mcp_exchange *exchange,
                         const char *name, size_t bytes) {
    return session->user != exchange->user || session->name_bytes != bytes ||
           memcmp(session->name, name, bytes) != 0;
}

static bool has_legacy_version(const uint8_t *head, const struct http_request *request) {
    struct span version = request->fields[HTTP_MCP_PROTOCOL_VERSION];
    assert(head && version.bytes < UINT32_MAX);
    return !http_has_field(request, HTTP_MCP_PROTOCOL_VERSION) ||
           (!http_repeated(request, HTTP_MCP_PROTOCOL_VERSION) &&
            mcp_legacy_version((const char *)head + version.at, version.bytes));
}

// Returns the session that a request names. Returns NULL if there is none, and refuses the request.
static struct mcp_client *find(struct shard *shard, const struct mcp_post *post, const char *name,
                               size_t bytes) {
    const struct http_request *request = post->http;
    struct span id = request->fields[HTTP_MCP_SESSION_ID];
    assert(shard->index == 0 && (name || bytes == 0));
    if (!http_has_field(request, HTTP_MCP_SESSION_ID) || http_repeated(request, HTTP_MCP_SESSION_ID)) {
        refuse(shard, post, 400, ERROR_NOT_INITIALIZED,
               "Mcp-Session-Id must be there, once: the answer to initialize has it");
        return NULL;
    }
    struct mcp_client *session = mcp_table_find(shard, post->head + id.at, id.bytes);
    if (!session || is_elsewhere(session, post->exchange, name, bytes)) {
        refuse(shard, post, 404, ERROR_NOT_INITIALIZED,
               "there is no such session: initialize opens a new one");
        return NULL;
    }
    if (!has_legacy_version(post->head, request)) {
        refuse(shard, post, 400, ERROR_INVALID_REQUEST,
               "MCP-Protocol-Version must be one from 2024-11-05 to 2025-11-25 in a session");
        return NULL;
    }
    session->used_ms = shard_now_ms(shard);
    return session;
}

// --- Answers

// Answers initialize. If the server has accepted, the client gets the session's id. Otherwise the session ends.
static void answer_initialize(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_client *session = call->client;
    bool is_open = answer && !call->exchange->is_error;
    if (is_open)
        mcp_stream_answer(shard, call, answer, 200, mcp_table_line(session));
    else
        mcp_answer_give(shard, call, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
    if (!is_open)
        mcp_table_close(shard, session);
}

static void answer_call(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(shard->index == 0);
    mcp_answer_give(shard, call, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
}

// --- Messages

// Makes the session's seat the source of a message.
static void set_source(struct shard *shard, struct mcp_post *post, struct mcp_client *session) {
    assert(!session->is_closed);
    mcp_post_frame(post);
    post->message.peer = session->seat;
    post->frame = route_set_user_header(shard, session->seat, &post->frame);
}

static void ask(struct shard *shard, struct mcp_post *post, struct mcp_client *session, bool is_initialize) {
    assert(shard->index == 0);
    struct mcp_call *call = mcp_call_begin(shard, session, post->exchange);
    if (!call) {
        refuse(shard, post, 503, ERROR_OVERLOADED, "there is no memory for the request");
        if (is_initialize)
            mcp_table_close(shard, session);
        return;
    }
    struct exchange *exchange = call->exchange;
    call->answered = is_initialize ? answer_initialize : answer_call;
    call->is_initialize = is_initialize;
    call->is_list = message_method_is(&post->message, "tools/list");
    call->is_first_page = post->params[MCP_PARAM_CURSOR].type == JSON_NONE;
    call->takes_json = post->takes_json;
    call->takes_events = post->takes_events;
    set_source(shard, post, session);
    post->message.exchange = exchange;
    route_attached(shard, &post->message);
    exchange_close(shard, exchange);
}

// Returns whether streams begin with an empty event in the client's version, which counts until the server has
// answered.
static bool asks_for_primed(const struct mcp_post *post) {
    char version[32];
    size_t bytes = mcp_post_text(post, &post->params[MCP_PARAM_VERSION], version, sizeof version);
    return bytes != SIZE_MAX && mcp_stream_primes(version, bytes);
}

static void open_session(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes) {
    assert(shard->index == 0);
    struct mcp_client *session = NULL;
    if (http_has_field(post->http, HTTP_MCP_SESSION_ID) || post->message.lookup.kind != BODY_REQUEST) {
        refuse(shard, post, 400, ERROR_INVALID_REQUEST, "initialize is a request that opens a session");
        return;
    }
    if (mcp_table_has_room(shard, post->exchange->user))
        session = mcp_client_create(shard, MCP_CLIENT_SESSION, post->exchange->user, name, bytes);
    if (session && !mcp_table_add(shard, session)) {
        mcp_table_close(shard, session);
        session = NULL;
    }
    if (!session) {
        refuse(shard, post, 503, ERROR_OVERLOADED, "there is no room for one more session");
        return;
    }
    session->primes = asks_for_primed(post);
    post->exchange->stream_lines = mcp_table_line(session); // a stream may begin before the server answers
    if (bytes)
        ask(shard, post, session, true);
    else
        mcp_all_ask(shard, post, session);
}

// Routes a response or notification. The client gets 202, whatever becomes of the message.
static void forward_unanswered(struct shard *shard, struct mcp_post *post, struct mcp_client *session) {
    assert(shard->index == 0);
    struct mcp_exchange *exchange = post->exchange;
    struct message *message = &post->message;
    set_source(shard, post, session);
    if (message->lookup.kind == BODY_RESPONSE) {
        responses_route(shard, message);
    } else if (post->method == MCP_CANCELLED) {
        if (shard->settings->users)
            authn_charge(shard, session->seat, message->frame->body.bytes);
        cancel_request_route(shard, message);
    } else {
        route_attached(shard, message);
    }
    mcp_reply_status(shard, exchange, 202, NULL);
}

// Answers a ping: on a stream if the client takes events alone.
static void answer_ping(struct shard *shard, const struct mcp_post *post, struct mcp_client *session) {
    struct text body;
    if (post->takes_json) {
        mcp_reply_note_post_answer(shard, post);
        mcp_reply_result(shard, post->exchange, post->to, "{}", 2);
        return;
    }
    struct mcp_call *call = mcp_call_begin(shard, session, post->exchange);
    if (!call) {
        refuse(shard, post, 503, ERROR_OVERLOADED, "there is no memory for the request");
        return;
    }
    call->takes_events = true;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_add(&body, post->to.id, post->to.id_bytes);
    text_put(&body, ",\"result\":{}}");
    stats_count(&shard->stats, COUNT_ANSWERED_BY_HUB);
    struct parcel *parcel = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (parcel) {
        mcp_reply_note_post_answer(shard, post);
        mcp_stream_answer(shard, call, parcel, 200, NULL);
    } else {
        text_deinit(&body);
        mcp_stream_end(shard, call);
    }
    mcp_call_settle(shard, call);
    mcp_call_free(shard, call);
}

void mcp_session_post(struct shard *shard, struct mcp_post *post, const char *name, size_t bytes) {
    assert(shard->index == 0 && post->head);
    bool is_request = post->message.lookup.kind == BODY_REQUEST;
    if (post->method == MCP_INITIALIZE) {
        open_session(shard, post, name, bytes);
        return;
    }
    struct mcp_client *session = find(shard, post, name, bytes);
    if (!session)
        return;
    if (is_request && post->method == MCP_PING)
        answer_ping(shard, post, session);
    else if (is_request && !bytes)
        mcp_all_ask(shard, post, session);
    else if (is_request)
        ask(shard, post, session, false);
    else if (bytes || post->message.lookup.kind == BODY_RESPONSE)
        forward_unanswered(shard, post, session);
    else
        mcp_all_notify(shard, post, session);
}

// --- GET and DELETE

// Returns a post without a message, for a GET or a DELETE.
static struct mcp_post unread_of(const struct mcp_arrival *arrival) {
    return (struct mcp_post){.exchange = arrival->exchange, .head = arrival->head, .http = &arrival->request};
}

void mcp_session_listen(struct shard *shard, const struct mcp_arrival *arrival, const char *name,
                        size_t bytes) {
    assert(shard->index == 0);
    const struct mcp_post unread = unread_of(arrival);
    struct mcp_client *session = find(shard, &unread, name, bytes);
    const struct http_request *request = &arrival->request;
    struct span place = request->fields[HTTP_LAST_EVENT_ID];
    if (!session)
        return;
    if (!http_has_field(request, HTTP_LAST_EVENT_ID) || !mcp_history_is_on(shard, session))
        mcp_stream_open(shard, session, arrival->exchange);
    else if (http_repeated(request, HTTP_LAST_EVENT_ID) ||
             !mcp_stream_resume(shard, session, arrival->exchange, arrival->head + place.at, place.bytes))
        refuse(shard, &unread, 400, ERROR_INVALID_REQUEST,
               "Last-Event-ID must be the id of an event behind which all is kept");
}

void mcp_session_delete(struct shard *shard, const struct mcp_arrival *arrival, const char *name,
                        size_t bytes) {
    assert(shard->index == 0);
    const struct mcp_post unread = unread_of(arrival);
    struct mcp_client *session = find(shard, &unread, name, bytes);
    if (!session)
        return;
    mcp_client_cancel_calls(shard, session);
    mcp_table_close(shard, session);
    mcp_reply_status(shard, arrival->exchange, 204, NULL);
}
