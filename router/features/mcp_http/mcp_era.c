#include "router/features/mcp_http/mcp_era.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/features/mcp_http/mcp_body.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_client.h"
#include "router/features/mcp_http/mcp_modern_call.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_table.h"

// An arrival that waits. Its buffer is held.
struct mcp_wait {
    struct list link;
    struct mcp_exchange *exchange;
    struct frame frame;
    struct unit unit;
    struct reply_to to; // of what the buffer holds
    bool is_for_all;    // it goes on without the server
};

// A server of which something is known, or asked.
struct mcp_server {
    struct list link;  // in mcp_http.servers
    struct list waits; // struct mcp_wait.link
    enum mcp_knowledge era;
    bool is_asked;
    uint64_t down_until_ms; // it didn't say, and counts as down until then
    uint32_t name_bytes;
    char name[];
};

static mcp_exchange_serve *serve_again;

void mcp_era_set(mcp_exchange_serve *serve) {
    serve_again = serve;
}

static struct mcp_server *find(const struct shard *shard, const char *name, size_t bytes) {
    assert(shard->index == 0);
    struct list *all = &shard->mcp_http->servers;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct mcp_server *server = list_entry(node, struct mcp_server, link);
        if (server->name_bytes == bytes && memcmp(server->name, name, bytes) == 0)
            return server;
    }
    return NULL;
}

static struct mcp_server *take(struct shard *shard, const char *name, size_t bytes) {
    assert(shard->index == 0);
    struct mcp_server *server = find(shard, name, bytes);
    if (server)
        return server;
    server = quota_take_zeroed(&shard->quota, 1, sizeof *server + bytes);
    if (!server)
        return NULL;
    server->name_bytes = (uint32_t)bytes;
    memcpy(server->name, name, bytes);
    list_init(&server->waits);
    list_append(&shard->mcp_http->servers, &server->link);
    return server;
}

static void give(struct shard *shard, struct mcp_server *server) {
    list_remove(&server->link);
    quota_give(&shard->quota, server);
}

enum mcp_knowledge mcp_era_known(const struct shard *shard, const char *name, size_t bytes) {
    assert(shard->index == 0);
    const struct mcp_server *server = find(shard, name, bytes);
    if (!server || server->is_asked)
        return MCP_ERA_UNKNOWN;
    bool is_down = server->era == MCP_ERA_UNKNOWN && shard_now_ms(shard) < server->down_until_ms;
    return is_down ? MCP_ERA_DOWN : server->era;
}

// --- Those that wait

static void give_wait(struct shard *shard, struct mcp_wait *wait) {
    assert(shard->index == 0);
    list_remove(&wait->link);
    wait->exchange->wait = NULL;
    buffer_drop(wait->frame.buffer);
    quota_give(&shard->quota, wait);
}

void mcp_era_leave(struct shard *shard, struct mcp_exchange *exchange) {
    if (exchange->wait)
        give_wait(shard, exchange->wait);
}

static void serve_one(struct shard *shard, struct mcp_wait *wait) {
    assert(shard->index == 0);
    struct mcp_arrival arrival = {.exchange = wait->exchange, .frame = &wait->frame};
    arrival.head = wait->frame.buffer->bytes + wait->frame.at;
    http_read(arrival.head, wait->frame.unit, &arrival.request);
    list_remove(&wait->link);
    wait->exchange->wait = NULL;
    serve_again(shard, &arrival);
    buffer_drop(wait->frame.buffer);
    quota_give(&shard->quota, wait);
}

static void refuse_one(struct shard *shard, struct mcp_wait *wait, const struct mcp_server *server) {
    assert(shard->index == 0);
    struct mcp_exchange *exchange = wait->exchange;
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", server->name, server->name_bytes);
    reply_data_text(&data, "fault", "the server doesn't say whether it speaks this era");
    wait->exchange->wait = NULL;
    mcp_reply_error(shard, exchange, 503, wait->to, ERROR_OVERLOADED, &data);
    list_remove(&wait->link);
    buffer_drop(wait->frame.buffer);
    quota_give(&shard->quota, wait);
}

static void settle(struct shard *shard, struct mcp_server *server) {
    struct list waits;
    assert(!server->is_asked);
    list_init(&waits);
    list_move_all(&server->waits, &waits); // what waits anew isn't among these
    while (!list_empty(&waits)) {
        struct mcp_wait *wait = list_entry(waits.next, struct mcp_wait, link);
        if (server->era == MCP_ERA_UNKNOWN && !wait->is_for_all)
            refuse_one(shard, wait, server);
        else
            serve_one(shard, wait);
    }
}

// --- The question

static enum mcp_knowledge read_answer(struct shard *shard, const struct mcp_call *call,
                                      const struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_body body;
    if (!answer || (call->exchange->error && !call->exchange->hub_id) || !mcp_body_read(shard, answer, &body))
        return MCP_ERA_UNKNOWN;
    int64_t code = mcp_body_code(&body);
    mcp_body_give(&body);
    bool is_hubs = code <= -31000 && code > -32000;
    return is_hubs ? MCP_ERA_UNKNOWN : code == -32601 ? MCP_ERA_LACKING : MCP_ERA_THERE;
}

static void answered(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_client *client = call->client;
    struct mcp_server *server = find(shard, client->name, client->name_bytes);
    enum mcp_knowledge era = read_answer(shard, call, answer);
    if (answer)
        send_release(shard, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
    mcp_modern_call_rest(shard, client);
    if (!server)
        return;
    server->era = era;
    server->is_asked = false;
    server->down_until_ms = shard_now_ms(shard) + 1000;
    settle(shard, server);
}

static void put_question(struct text *body) {
    text_init(body);
    text_put(body,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"patchbay\",\"version\":\"" PATCHBAY_VERSION
             "\"},\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
}

static bool ask(struct shard *shard, struct mcp_server *server, const struct user *user) {
    assert(shard->index == 0);
    struct mcp_client *client = mcp_modern_call_client(shard, user, server->name, server->name_bytes);
    struct mcp_call *call = client ? mcp_call_begin(shard, client, NULL) : NULL;
    struct text body;
    if (!call) {
        if (client)
            mcp_modern_call_rest(shard, client);
        return false;
    }
    call->answered = answered;
    call->is_modern = true;
    server->is_asked = true;
    put_question(&body);
    mcp_call_send(shard, call, server->name, server->name_bytes, &body, NULL);
    return true;
}

void mcp_era_wait(struct shard *shard, const struct mcp_arrival *arrival, struct reply_to to,
                  const char *name, size_t bytes) {
    struct mcp_exchange *exchange = arrival->exchange;
    struct mcp_server *server = take(shard, name, bytes);
    struct mcp_wait *wait = server ? quota_take(&shard->quota, sizeof *wait) : NULL;
    assert(!exchange->wait && !exchange->call);
    if (!wait) {
        mcp_reply_error(shard, exchange, 503, to, ERROR_OVERLOADED, NULL);
        return;
    }
    *wait = (struct mcp_wait){.exchange = exchange, .frame = *arrival->frame, .unit = *arrival->frame->unit};
    wait->frame.unit = &wait->unit;
    wait->to = to;
    wait->is_for_all = arrival->request.line.path.bytes == sizeof "/mcp" - 1;
    buffer_hold(wait->frame.buffer);
    exchange->wait = wait;
    list_append(&server->waits, &wait->link);
    if (!server->is_asked && !ask(shard, server, exchange->user))
        settle(shard, server);
}

void mcp_era_forget(struct shard *shard) {
    assert(shard->index == 0);
    struct list *all = &shard->mcp_http->servers;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct mcp_server *server = list_entry(node, struct mcp_server, link);
        next = node->next;
        server->era = MCP_ERA_UNKNOWN;
        if (!server->is_asked && list_empty(&server->waits))
            give(shard, server);
    }
}

void mcp_era_close(struct shard *shard) {
    assert(shard->index == 0);
    struct list *all = &shard->mcp_http->servers;
    while (!list_empty(all)) {
        struct mcp_server *server = list_entry(all->next, struct mcp_server, link);
        server->era = MCP_ERA_UNKNOWN;
        settle(shard, server);
        give(shard, server);
    }
}
