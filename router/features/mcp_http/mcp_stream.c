#include "router/features/mcp_http/mcp_stream.h"

#include <assert.h>

#include "core/base/memory.h"
#include "core/mcp/mcp_message.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_gather.h"
#include "router/features/mcp_http/mcp_history.h"
#include "router/features/mcp_http/mcp_table.h"

// --- Events

// Begins a stream of the history. An empty event comes first if client->primes, so that the client has an id from which
// to continue.
static void begin(struct shard *shard, struct mcp_client *client, struct mcp_history_stream **stream,
                  struct mcp_exchange *http) {
    char id[MCP_EVENT_ID_BYTES];
    assert(shard->index == 0);
    if (*stream || !mcp_history_is_on(shard, client) || !(*stream = mcp_history_begin(shard, client)) ||
        !client->primes)
        return;
    (*stream)->sent = (*stream)->opening = mcp_history_number(client);
    mcp_history_put_id(*stream, (*stream)->opening, id);
    mcp_exchange_mark(shard, http, id);
}

static void drop(struct shard *shard, const struct mcp_client *client, struct parcel *parcel,
                 enum counter counter) {
    drop_one(shard, counter, client->seat->connection_id, parcel->bytes);
    send_release(shard, parcel);
}

// Sends a body on a stream, and takes the body. Without a connection the history keeps the body. Returns false if the
// body was lost.
static bool put(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream,
                struct mcp_exchange *http, struct parcel *body, enum counter loss) {
    char id[MCP_EVENT_ID_BYTES];
    bool is_answer = loss == COUNT_DROP_ANSWER_SOURCE_GONE;
    uint64_t number = stream ? mcp_history_number(client) : 0;
    bool is_kept = stream && mcp_history_add(shard, client, stream, number, body, is_answer);
    if (http) {
        if (stream)
            mcp_history_put_id(stream, number, id);
        mcp_exchange_send(shard, http, body, stream ? id : NULL, loss == COUNT_DROP_OVERLOADED);
        if (stream)
            stream->sent = number;
    } else if (is_kept) {
        send_release(shard, body);
    } else {
        drop(shard, client, body, loss);
    }
    if (stream)
        mcp_history_bound(shard, client);
    return http || is_kept;
}

static void end_history(struct shard *shard, struct mcp_client *client, struct mcp_history_stream **stream) {
    struct mcp_history_stream *ending = *stream;
    *stream = NULL;
    if (ending)
        mcp_history_end(shard, client, ending);
}

// --- Answers

static struct mcp_exchange *part(struct mcp_call *call) {
    struct mcp_exchange *http = call->http;
    assert(!http || http->call == call);
    call->http = NULL;
    if (http)
        http->call = NULL;
    return http;
}

bool mcp_stream_primes(const char *version, size_t bytes) {
    uint32_t first = mcp_legacy_version("2025-11-25", 10);
    assert(first > 0);
    return mcp_legacy_version(version, bytes) >= first;
}

// Sets client->primes by the version that the server has answered.
static void note_version(struct shard *shard, struct mcp_client *client, const struct parcel *answer) {
    struct mcp_body body;
    char text[32];
    size_t bytes = SIZE_MAX;
    struct json_item version = {0};
    if (!mcp_body_read(shard, answer, &body))
        return;
    if (lookup_has(&body.lookup, KEY_RESULT) && body.lookup.type[KEY_RESULT] == JSON_OBJECT)
        version = json_member(body.bytes, body.lookup.value[KEY_RESULT], "protocolVersion");
    if (version.type == JSON_STRING)
        bytes = json_string_decode(body.bytes, version.value, text, sizeof text);
    mcp_body_give(&body);
    client->primes = bytes != SIZE_MAX && mcp_stream_primes(text, bytes);
}

void mcp_stream_answer(struct shard *shard, struct mcp_call *call, struct parcel *answer, unsigned status,
                       char *lines) {
    assert(shard->index == 0);
    struct mcp_client *client = call->client;
    struct mcp_exchange *http = part(call);
    bool is_json = http && !http->streams && call->takes_json;
    if (call->is_initialize)
        note_version(shard, client, answer);
    if (is_json) {
        mcp_exchange_answer(shard, http, status, NULL, lines, answer);
    } else {
        memory_give(lines);
        if (http)
            begin(shard, client, &call->stream, http);
        (void)put(shard, client, call->stream, http, answer, COUNT_DROP_ANSWER_SOURCE_GONE);
        if (http)
            mcp_exchange_end(shard, http);
    }
    end_history(shard, client, &call->stream);
}

void mcp_stream_end(struct shard *shard, struct mcp_call *call) {
    struct mcp_exchange *http = part(call);
    assert(!call->http);
    if (http && (http->streams || call->takes_events))
        mcp_exchange_end(shard, http);
    else if (http)
        mcp_exchange_answer(shard, http, 202, NULL, NULL, NULL);
    end_history(shard, call->client, &call->stream);
}

// --- Other messages

static struct mcp_call *call_of(struct list *node) {
    return list_entry(node, struct mcp_call, link);
}

static bool has_stream(const struct mcp_call *call) {
    return call->http && call->takes_events;
}

// Returns the latest request in progress that has a stream; or NULL. `gone`: of the requests without a connection,
// whose events are kept.
static struct mcp_call *latest(const struct mcp_client *client, bool gone) {
    for (struct list *node = client->calls.prev; node != &client->calls; node = node->prev) {
        struct mcp_call *call = call_of(node);
        if (!call->is_listen && (gone ? !call->http && call->stream : has_stream(call)))
            return call;
    }
    return NULL;
}

// Sends a body on the stream of a call. Returns false if the body was lost.
static bool put_at(struct shard *shard, struct mcp_call *call, struct parcel *body, enum counter loss) {
    if (call->http)
        begin(shard, call->client, &call->stream, call->http);
    return put(shard, call->client, call->stream, call->http, body, loss);
}

static void keep_waiting(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    parcel = send_detach(shard, parcel);
    parcel_list_append(&client->waiting, parcel);
    client->waiting_bytes += parcel->bytes + sizeof *parcel;
    while (client->waiting_bytes > MCP_WAITING_BYTES_MAX) {
        struct parcel *oldest = parcel_list_take(&client->waiting);
        client->waiting_bytes -= oldest->bytes + sizeof *oldest;
        drop(shard, client, oldest, COUNT_DROP_OVERLOADED);
    }
}

// Refuses a server's request to the client, because the client has no stream for it.
static void refuse_question(struct shard *shard, uint64_t hub_id) {
    assert(shard->index == 0);
    struct pending *pending = pending_find(&shard->pending, hub_id);
    struct text data;
    if (!pending)
        return;
    text_init(&data);
    reply_data_text(&data, "reason", "the client has no stream on which it could be asked");
    completion_error(shard, pending, ERROR_METHOD_NOT_FOUND, &data);
}

// Sends a server's request to a client: on a connection, or keeps the request for the next connection. Refuses the
// request to a client of the modern era, which couldn't answer.
static void ask(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    bool is_session = client->kind == MCP_CLIENT_SESSION, is_sent = false;
    struct mcp_call *call = is_session ? latest(client, false) : NULL;
    uint64_t hub_id = parcel->hub_id;
    if (is_session && !call && !client->listener)
        call = latest(client, true);
    if (call)
        is_sent = put_at(shard, call, parcel, COUNT_DROP_TARGET_GONE);
    else if (client->listener || client->listening)
        is_sent = put(shard, client, client->listening, client->listener, parcel, COUNT_DROP_TARGET_GONE);
    else
        send_release(shard, parcel);
    if (!is_sent)
        refuse_question(shard, hub_id);
}

// Finds the call that a notification to a client of the modern era is for. With a hub id that is the subscription with
// this id, with 0 the call that asks for log messages. Returns NULL if there is none, or several calls ask.
static struct mcp_call *modern_call(struct mcp_client *client, uint64_t hub_id) {
    struct mcp_call *found = NULL;
    for (struct list *node = client->calls.next; node != &client->calls; node = node->next) {
        struct mcp_call *call = call_of(node);
        if (hub_id ? call->exchange->hub_id != hub_id : !call->logs)
            continue;
        if (found)
            return NULL;
        found = call;
    }
    return found;
}

// Returns the stream of the call that a notification is for, or of the call to all servers that has this call as a
// part. Returns NULL if there is no stream, or if the gather has taken the parcel, and sets *parcel to NULL then.
static struct mcp_exchange *modern_stream(struct shard *shard, struct mcp_client *client,
                                          struct parcel **parcel) {
    struct mcp_call *call = modern_call(client, (*parcel)->note ? (*parcel)->source : 0);
    struct mcp_gather *gather = call ? call->part_of : NULL;
    if (gather && gather->take_notification && gather->take_notification(shard, gather, *parcel)) {
        *parcel = NULL;
        return NULL;
    }
    if (gather)
        call = gather->call;
    return call && has_stream(call) ? call->http : NULL;
}

static void notify_modern(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(client->kind != MCP_CLIENT_SESSION);
    struct mcp_exchange *http = modern_stream(shard, client, &parcel);
    if (parcel && http)
        mcp_exchange_send(shard, http, parcel, NULL, true);
    else if (parcel)
        drop(shard, client, parcel, COUNT_DROP_NO_ROUTE);
}

static void notify(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    struct mcp_call *call = latest(client, false);
    if (client->kind != MCP_CLIENT_SESSION)
        notify_modern(shard, client, parcel);
    else if (client->listener || client->listening)
        (void)put(shard, client, client->listening, client->listener, parcel, COUNT_DROP_OVERLOADED);
    else if (call)
        (void)put_at(shard, call, parcel, COUNT_DROP_OVERLOADED);
    else if (!client->is_closed)
        keep_waiting(shard, client, parcel);
    else
        drop(shard, client, parcel, COUNT_DROP_NO_ROUTE);
}

void mcp_stream_take(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    if (parcel->hub_id)
        ask(shard, client, parcel);
    else
        notify(shard, client, parcel);
}

void mcp_stream_report(struct shard *shard, struct mcp_call *call, struct peer *seat, struct parcel *parcel) {
    assert(!call || call->client->seat == seat);
    if (call && call->part_of)
        call = call->part_of->call;
    if (call && (has_stream(call) || (!call->http && call->stream))) {
        (void)put_at(shard, call, parcel, COUNT_DROP_OVERLOADED);
        return;
    }
    drop_one(shard, COUNT_DROP_PROGRESS_UNKNOWN, seat->connection_id, parcel->bytes);
    send_release(shard, parcel);
}

// --- The stream of GET

void mcp_stream_end_listener(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    struct mcp_exchange *http = client->listener;
    client->listener = NULL;
    if (!http)
        return;
    http->listener = NULL;
    mcp_exchange_end(shard, http);
}

// Makes a stream the client's stream of GET. Events that were never sent on the earlier stream of GET move to the new
// one.
static void listen_on(struct shard *shard, struct mcp_client *client, struct mcp_history_stream *stream) {
    struct mcp_history_stream *before = client->listening;
    assert(stream && stream->is_listening);
    stream->is_over = false;
    client->listening = stream;
    if (!before || before == stream)
        return;
    mcp_history_move(client, before, stream);
    mcp_history_end(shard, client, before);
}

static void replay(struct shard *shard, const struct mcp_client *client, struct mcp_history_stream *stream,
                   struct mcp_exchange *http, uint64_t number) {
    char id[MCP_EVENT_ID_BYTES];
    for (const struct mcp_event *event; (event = mcp_history_next(client, stream, number));) {
        struct parcel *body = mcp_history_body(shard, event);
        number = event->number;
        mcp_history_put_id(stream, number, id);
        if (body)
            mcp_exchange_send(shard, http, body, id, false);
        else
            drop_one(shard, COUNT_DROP_NO_MEMORY, client->seat->connection_id, event->bytes);
        if (stream->sent < number)
            stream->sent = number;
    }
}

static void put_waiting(struct shard *shard, struct mcp_client *client) {
    for (struct parcel *parcel; (parcel = parcel_list_take(&client->waiting));)
        (void)put(shard, client, client->listening, client->listener, parcel, COUNT_DROP_OVERLOADED);
    client->waiting_bytes = 0;
    mcp_call_watch(shard, client);
}

void mcp_stream_open(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http) {
    struct mcp_history_stream *stream = NULL;
    assert(shard->index == 0);
    mcp_stream_end_listener(shard, client);
    client->listener = http;
    http->listener = client;
    client->used_ms = shard_now_ms(shard);
    begin(shard, client, &stream, http);
    if (!http->streams)
        mcp_exchange_comment(shard, http); // sends the head
    if (stream) {
        stream->is_listening = true;
        listen_on(shard, client, stream);
        replay(shard, client, stream, http, stream->sent);
    } else if (client->listening) {
        end_history(shard, client, &client->listening);
    }
    put_waiting(shard, client);
}

static struct mcp_call *call_of_stream(const struct mcp_client *client,
                                       const struct mcp_history_stream *stream) {
    for (struct list *node = client->calls.next; node != &client->calls; node = node->next)
        if (call_of(node)->stream == stream)
            return call_of(node);
    return NULL;
}

// Continues the stream of a request in progress on another connection.
static void go_on(struct shard *shard, struct mcp_call *call, struct mcp_exchange *http) {
    struct mcp_exchange *before = part(call);
    if (before)
        mcp_exchange_end(shard, before);
    call->takes_events = true;
    call->http = http;
    http->call = call;
}

bool mcp_stream_resume(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http,
                       const uint8_t *id, size_t bytes) {
    char place[MCP_EVENT_ID_BYTES];
    uint64_t number;
    struct mcp_history_stream *stream = mcp_history_find(client, id, bytes, &number);
    assert(shard->index == 0 && !http->call && !http->listener);
    if (!stream)
        return false;
    struct mcp_call *call = call_of_stream(client, stream);
    if (call)
        go_on(shard, call, http);
    if (stream->is_listening) {
        mcp_stream_end_listener(shard, client);
        listen_on(shard, client, stream);
        client->listener = http;
        http->listener = client;
    }
    client->used_ms = shard_now_ms(shard);
    mcp_history_put_id(stream, number, place);
    if (client->primes)
        mcp_exchange_mark(shard, http, place);
    else
        mcp_exchange_comment(shard, http);
    replay(shard, client, stream, http, number);
    if (stream->is_listening)
        put_waiting(shard, client);
    else if (!call)
        mcp_exchange_end(shard, http);
    mcp_call_watch(shard, client);
    return true;
}

void mcp_stream_close(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    mcp_stream_end_listener(shard, client);
    for (struct parcel *parcel; (parcel = parcel_list_take(&client->waiting));)
        drop(shard, client, parcel, COUNT_DROP_TARGET_GONE);
    client->waiting_bytes = 0;
    mcp_history_free(shard, client);
}

// --- Time

// Sends a comment on a stream that has been silent for `pause_ms`. Returns when the next comment is due, in ms.
static uint64_t keep_alive(struct shard *shard, struct mcp_client *client, struct mcp_history_stream **stream,
                           struct mcp_exchange *http, uint64_t pause_ms) {
    assert(shard->index == 0);
    uint64_t now_ms = shard_now_ms(shard);
    if (now_ms - http->sent_ms >= pause_ms) {
        begin(shard, client, stream, http);
        mcp_exchange_comment(shard, http);
    }
    return http->sent_ms + pause_ms;
}

// Calls `late` of a call or of its gather once --mcp-gather has passed. Returns when `late` is due, in ms; UINT64_MAX:
// never.
static uint64_t end_gather(struct shard *shard, struct mcp_call *call) {
    struct mcp_gather *gather = call->gather;
    uint64_t due_ms = call->began_ms + mcp_option(shard, MCP_OPTION_GATHER_NS) / 1000000;
    bool is_awaited = (gather && gather->late) || call->late;
    if (!is_awaited || shard_now_ms(shard) < due_ms)
        return is_awaited ? due_ms : UINT64_MAX;
    void (*late)(struct shard * shard, struct mcp_call * call) = call->late;
    call->late = NULL;
    if (late) {
        late(shard, call);
        return UINT64_MAX;
    }
    gather->late(shard, gather);
    gather->late = NULL;
    return UINT64_MAX;
}

void mcp_stream_expire(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    uint64_t now_ms = shard_now_ms(shard), pause_ms = mcp_option(shard, MCP_OPTION_KEEP_ALIVE_NS) / 1000000;
    uint64_t idle_ms = mcp_option(shard, MCP_OPTION_SESSION_IDLE_NS) / 1000000, due_ms = UINT64_MAX;
    for (struct list *node = client->calls.next; node != &client->calls; node = node->next) {
        struct mcp_call *call = call_of(node);
        uint64_t at_ms =
            has_stream(call) ? keep_alive(shard, client, &call->stream, call->http, pause_ms) : UINT64_MAX;
        due_ms = at_ms < due_ms ? at_ms : due_ms;
        at_ms = end_gather(shard, call);
        due_ms = at_ms < due_ms ? at_ms : due_ms;
    }
    if (client->listener) {
        uint64_t at_ms = keep_alive(shard, client, &client->listening, client->listener, pause_ms);
        if (client->listening)
            client->listening->is_listening = true;
        due_ms = at_ms < due_ms ? at_ms : due_ms;
    }
    bool is_idle = client->kind != MCP_CLIENT_REQUEST && list_empty(&client->calls) && !client->listener;
    if (is_idle && now_ms - client->used_ms >= idle_ms) {
        mcp_table_close(shard, client);
        return;
    }
    if (is_idle)
        due_ms = client->used_ms + idle_ms;
    if (due_ms != UINT64_MAX)
        wheel_arm(&shard->wheel, &client->seat->cold->timer, due_ms > now_ms ? due_ms : now_ms + 1);
}
