#include "router/features/mcp_http/mcp_stream.h"

#include <assert.h>

#include "core/base/memory.h"
#include "router/engine/request/completion.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/drop.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_gather.h"
#include "router/features/mcp_http/mcp_table.h"

// --- Answers

static struct mcp_exchange *part(struct mcp_call *call) {
    struct mcp_exchange *http = call->http;
    assert(!http || http->call == call);
    call->http = NULL;
    if (http)
        http->call = NULL;
    return http;
}

void mcp_stream_answer(struct shard *shard, struct mcp_call *call, struct parcel *answer, unsigned status,
                       char *lines) {
    assert(shard->index == 0);
    struct mcp_exchange *http = part(call);
    if (!http) {
        memory_give(lines);
        drop_one(shard, COUNT_DROP_ANSWER_SOURCE_GONE, call->client->seat->name, answer->bytes);
        send_release(shard, answer);
    } else if (http->streams || !call->takes_json) {
        memory_give(lines);
        mcp_exchange_say(shard, http, answer, NULL, false);
        mcp_exchange_end(shard, http);
    } else {
        mcp_exchange_answer(shard, http, status, NULL, lines, answer);
    }
}

void mcp_stream_end(struct shard *shard, struct mcp_call *call) {
    struct mcp_exchange *http = part(call);
    assert(!call->http);
    if (http && (http->streams || call->takes_events))
        mcp_exchange_end(shard, http);
    else if (http)
        mcp_exchange_answer(shard, http, 202, NULL, NULL, NULL);
}

// --- Other messages

static struct mcp_call *call_of(struct list *node) {
    return list_entry(node, struct mcp_call, link);
}

static bool has_stream(const struct mcp_call *call) {
    return call->http && call->takes_events;
}

// The stream of the latest request in progress that has one, and of what was listened to last where `listens`.
static struct mcp_exchange *latest(const struct mcp_client *client) {
    for (struct list *node = client->calls.prev; node != &client->calls; node = node->prev)
        if (has_stream(call_of(node)) && !call_of(node)->is_listen)
            return call_of(node)->http;
    return NULL;
}

static void drop(struct shard *shard, const struct mcp_client *client, struct parcel *parcel,
                 enum counter counter) {
    drop_one(shard, counter, client->seat->name, parcel->bytes);
    send_release(shard, parcel);
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

// Nobody can be asked this.
static void refuse_question(struct shard *shard, struct parcel *parcel) {
    assert(shard->index == 0);
    struct pending *pending = pending_find(&shard->pending, parcel->hub_id);
    struct text data;
    send_release(shard, parcel);
    if (!pending)
        return;
    text_init(&data);
    reply_data_text(&data, "reason", "the client has no stream on which it could be asked");
    completion_error(shard, pending, ERROR_METHOD_NOT_FOUND, &data);
}

static void ask(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    struct mcp_exchange *http = latest(client);
    if (!http)
        http = client->listener;
    if (!http) {
        refuse_question(shard, parcel);
        return;
    }
    mcp_exchange_say(shard, http, parcel, NULL, false);
}

// Of a client of the modern era: to the subscription that it is for, else to the one that asks for what is logged.
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

// Its stream, or that of the call of all servers of which it is a part. NULL: there is none, or the parcel was taken.
static struct mcp_exchange *modern_stream(struct shard *shard, struct mcp_client *client,
                                          struct parcel **parcel) {
    struct mcp_call *call = modern_call(client, (*parcel)->note ? (*parcel)->source : 0);
    struct mcp_gather *gather = call ? call->part_of : NULL;
    if (gather && gather->heard && gather->heard(shard, gather, *parcel)) {
        *parcel = NULL;
        return NULL;
    }
    if (gather)
        call = gather->call;
    return call && has_stream(call) ? call->http : NULL;
}

static void tell(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    struct mcp_exchange *http = client->listener ? client->listener : latest(client);
    if (client->kind != MCP_CLIENT_SESSION)
        http = modern_stream(shard, client, &parcel);
    if (!parcel)
        return;
    if (http)
        mcp_exchange_say(shard, http, parcel, NULL, true);
    else if (client->kind == MCP_CLIENT_SESSION && !client->is_closed)
        keep_waiting(shard, client, parcel);
    else
        drop(shard, client, parcel, COUNT_DROP_NO_ROUTE);
}

void mcp_stream_take(struct shard *shard, struct mcp_client *client, struct parcel *parcel) {
    assert(shard->index == 0);
    if (parcel->hub_id)
        ask(shard, client, parcel);
    else
        tell(shard, client, parcel);
}

void mcp_stream_report(struct shard *shard, struct mcp_call *call, struct peer *seat, struct parcel *parcel) {
    assert(!call || call->client->seat == seat);
    if (call && call->part_of)
        call = call->part_of->call;
    if (call && has_stream(call)) {
        mcp_exchange_say(shard, call->http, parcel, NULL, true);
        return;
    }
    drop_one(shard, COUNT_DROP_PROGRESS_UNKNOWN, seat->name, parcel->bytes);
    send_release(shard, parcel);
}

// --- The stream of GET

static void end_listener(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    struct mcp_exchange *http = client->listener;
    client->listener = NULL;
    if (!http)
        return;
    http->listener = NULL;
    mcp_exchange_end(shard, http);
}

void mcp_stream_open(struct shard *shard, struct mcp_client *client, struct mcp_exchange *http) {
    assert(shard->index == 0);
    end_listener(shard, client);
    client->listener = http;
    http->listener = client;
    client->used_ms = shard_now_ms(shard);
    mcp_exchange_say(shard, http, NULL, NULL, false); // whose head goes out with it
    for (struct parcel *parcel; (parcel = parcel_list_take(&client->waiting));)
        mcp_exchange_say(shard, http, parcel, NULL, true);
    client->waiting_bytes = 0;
    mcp_call_watch(shard, client);
}

void mcp_stream_close(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    end_listener(shard, client);
    for (struct parcel *parcel; (parcel = parcel_list_take(&client->waiting));)
        drop(shard, client, parcel, COUNT_DROP_TARGET_GONE);
    client->waiting_bytes = 0;
}

// --- Time

// Returns when it will have been silent for too long.
static uint64_t keep_alive(struct shard *shard, struct mcp_exchange *http, uint64_t pause_ms) {
    assert(shard->index == 0);
    uint64_t now_ms = shard_now_ms(shard);
    if (now_ms - http->said_ms >= pause_ms)
        mcp_exchange_say(shard, http, NULL, NULL, false);
    return http->said_ms + pause_ms;
}

void mcp_stream_expire(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0);
    uint64_t now_ms = shard_now_ms(shard), pause_ms = shard_limits(shard)->mcp_keep_alive_ns / 1000000;
    uint64_t idle_ms = shard_limits(shard)->mcp_session_idle_ns / 1000000, due_ms = UINT64_MAX;
    for (struct list *node = client->calls.next; node != &client->calls; node = node->next) {
        uint64_t at_ms =
            has_stream(call_of(node)) ? keep_alive(shard, call_of(node)->http, pause_ms) : UINT64_MAX;
        due_ms = at_ms < due_ms ? at_ms : due_ms;
    }
    if (client->listener) {
        uint64_t at_ms = keep_alive(shard, client->listener, pause_ms);
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
        wheel_arm(&shard->wheel, &client->seat->annex->timer, due_ms > now_ms ? due_ms : now_ms + 1);
}
