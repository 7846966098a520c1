// Serves MCP over HTTP: `/mcp/NAME` reaches the server of [child NAME], and `/mcp` all servers. Registers the feature.

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/child/child_settings.h"
#include "core/mcp/mcp_message.h"
#include "router/audit/audit.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/option.h"
#include "router/features/children/child_record.h"
#include "router/features/feature_list.h"
#include "router/features/http/http_routes.h"
#include "router/features/mcp_http/mcp_all.h"
#include "router/features/mcp_http/mcp_all_listen.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_client.h"
#include "router/features/mcp_http/mcp_era.h"
#include "router/features/mcp_http/mcp_exchange.h"
#include "router/features/mcp_http/mcp_gather.h"
#include "router/features/mcp_http/mcp_header_rules.h"
#include "router/features/mcp_http/mcp_history.h"
#include "router/features/mcp_http/mcp_inventory.h"
#include "router/features/mcp_http/mcp_modern_call.h"
#include "router/features/mcp_http/mcp_owner.h"
#include "router/features/mcp_http/mcp_post.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_server.h"
#include "router/features/mcp_http/mcp_session.h"
#include "router/features/mcp_http/mcp_stream.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/rights/authz.h"

static const char below[] = "/mcp/";

// --- The server that a path names

struct place {
    const char *name; // of the server; empty: all servers
    size_t bytes;
};

static bool is_there(const struct shard *shard, const struct place *place) {
    const struct child_record *record = child_record_find(shard->hub, place->name, place->bytes);
    return record && child_record_is_mcp(record) && mcp_server_section(shard, place->name, place->bytes);
}

static bool reaches_any(const struct shard *shard, const struct user *user) {
    assert(shard->index == 0);
    const struct child_settings *child = shard->settings->children;
    while (child && !mcp_gather_reaches(child, user))
        child = child->next;
    return child != NULL;
}

// Returns whether the user may call the server. Refuses the request otherwise, whether or not there is such a server.
static bool may_call(struct shard *shard, const struct mcp_post *post, const struct place *place) {
    assert(shard->index == 0);
    const struct mcp_exchange *exchange = post->exchange;
    struct text data;
    if (!exchange->user || (place->bytes ? authz_calls_server(exchange->user, place->name, place->bytes)
                                         : reaches_any(shard, exchange->user)))
        return true;
    text_init(&data);
    reply_data_text(&data, "rule", rule_text(RULE_CALL));
    stats_count(&shard->stats, COUNT_REFUSED_CALL);
    struct unrouted_request request = {exchange->connection, exchange->user,
                                       place->name,          place->bytes,
                                       post->message.method, post->message.method_bytes};
    audit_refused_unrouted(shard, &request, ERROR_NOT_ALLOWED, &data);
    mcp_reply_error(shard, post, 403, ERROR_NOT_ALLOWED, &data);
    return false;
}

// Returns whether there is such a server, and the user may call the server. Otherwise refuses the request.
static bool find(struct shard *shard, const struct mcp_post *post, const struct place *place) {
    assert(shard->index == 0);
    struct text data;
    if (!may_call(shard, post, place))
        return false;
    if (!place->bytes || is_there(shard, place))
        return true;
    text_init(&data);
    reply_data_string(&data, "agent", place->name, place->bytes);
    mcp_reply_error(shard, post, 404, ERROR_AGENT_NOT_FOUND, &data);
    return false;
}

static struct place place_of(const struct mcp_arrival *arrival) {
    struct span path = arrival->request.line.path;
    if (path.bytes < sizeof below) // all servers
        return (struct place){"", 0};
    return (struct place){(const char *)arrival->head + path.at + sizeof below - 1,
                          path.bytes - (sizeof below - 1)};
}

// --- Requests

static void refuse_status(struct shard *shard, struct mcp_exchange *exchange, unsigned status,
                          const char *fault) {
    assert(shard->index == 0);
    const struct mcp_post unread = {.exchange = exchange};
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", fault);
    mcp_reply_error(shard, &unread, status, ERROR_INVALID_REQUEST, &data);
}

static bool is_json(const struct mcp_arrival *arrival) {
    return !http_repeated(&arrival->request, HTTP_CONTENT_TYPE) &&
           http_media_type_is(arrival->head, arrival->request.fields[HTTP_CONTENT_TYPE], "application/json");
}

// Refuses a request of the modern era, so that the client falls back to initialize.
static void refuse_era(struct shard *shard, const struct mcp_post *post) {
    assert(shard->index == 0);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "the server speaks no version without sessions");
    mcp_reply_error(shard, post, 400, ERROR_NOT_INITIALIZED, &data);
}

static void refuse_end(struct shard *shard, const struct mcp_post *post) {
    assert(shard->index == 0);
    struct text data;
    text_init(&data);
    reply_data_text(&data, "fault", "the hub is ending");
    mcp_reply_later(shard, post, 503, 1000, &data);
}

// Returns whether all servers have the modern era or are down. Asks the first server whose era is unknown. Returns
// false if the arrival waits, or was refused.
static bool all_are_modern(struct shard *shard, const struct mcp_arrival *arrival,
                           const struct mcp_post *post) {
    assert(shard->index == 0);
    for (const struct child_settings *child = shard->settings->children; child; child = child->next) {
        size_t bytes = strlen(child->name);
        if (!mcp_gather_reaches(child, arrival->exchange->user))
            continue;
        enum mcp_knowledge era = mcp_era_known(shard, child->name, bytes);
        if (era == MCP_ERA_UNKNOWN)
            mcp_era_wait(shard, arrival, post, child->name, bytes);
        else if (era == MCP_ERA_LACKING)
            refuse_era(shard, post);
        if (era == MCP_ERA_UNKNOWN || era == MCP_ERA_LACKING)
            return false;
    }
    return true;
}

enum { TOOL_WAITS_MAX = 16 }; // after so many waits a request is served without the lists

// Asks a server for its tools if the tools aren't known. Returns true if the arrival waits for the tools.
static bool waits_for_tools(struct shard *shard, const struct mcp_arrival *arrival,
                            const struct mcp_post *post, const char *name, size_t bytes) {
    if (mcp_inventory_state(shard, name, bytes, MCP_TOOLS) != MCP_INVENTORY_UNKNOWN ||
        arrival->exchange->tool_waits == TOOL_WAITS_MAX)
        return false;
    mcp_era_ask_tools(shard, arrival->exchange->user, name, bytes);
    arrival->exchange
        ->tool_waits++; // before: without memory to wait the arrival is refused, and its exchange ends
    return mcp_era_wait_for_tools(shard, arrival, post, name, bytes);
}

static bool calls_tool(const struct mcp_post *post, char name[METHOD_BYTES_MAX], size_t *bytes) {
    if (post->message.lookup.kind != BODY_REQUEST || !message_method_is(&post->message, "tools/call"))
        return false;
    *bytes = mcp_post_text(post, &post->params[MCP_PARAM_NAME], name, METHOD_BYTES_MAX);
    return *bytes != SIZE_MAX;
}

static bool tool_fits(struct shard *shard, const struct mcp_post *post, const char *server, size_t bytes,
                      const char *tool, size_t tool_bytes) {
    const char *fault = mcp_inventory_mismatch(shard, server, bytes, tool, tool_bytes, post);
    return !fault || mcp_header_refuse(shard, post, fault);
}

// Returns whether the head mirrors the arguments of a tool's call as the tool demands. Returns false if the arrival
// waits, or was refused.
static bool mirrors_fit(struct shard *shard, const struct mcp_arrival *arrival, const struct mcp_post *post,
                        const char *server, size_t bytes) {
    char tool[METHOD_BYTES_MAX];
    size_t tool_bytes;
    if (!calls_tool(post, tool, &tool_bytes))
        return true;
    return !waits_for_tools(shard, arrival, post, server, bytes) &&
           tool_fits(shard, post, server, bytes, tool, tool_bytes);
}

// Does the same as mirrors_fit at /mcp, for the server that has the tool. Asks all servers whose tools are unknown at
// once.
static bool mirrors_of_all_fit(struct shard *shard, const struct mcp_arrival *arrival,
                               const struct mcp_post *post) {
    char tool[METHOD_BYTES_MAX];
    size_t tool_bytes;
    struct mcp_owner owner;
    const struct user *user = arrival->exchange->user;
    if (!calls_tool(post, tool, &tool_bytes))
        return true;
    enum mcp_ownership ownership = mcp_owner_find(shard, user, false, MCP_TOOLS, tool, tool_bytes, &owner);
    for (const struct child_settings *child = shard->settings->children;
         child && ownership == MCP_OWNED_UNKNOWN; child = child->next)
        if (mcp_gather_reaches(child, user) &&
            mcp_inventory_state(shard, child->name, strlen(child->name), MCP_TOOLS) == MCP_INVENTORY_UNKNOWN)
            mcp_era_ask_tools(shard, user, child->name, strlen(child->name));
    for (const struct child_settings *child = shard->settings->children;
         child && ownership == MCP_OWNED_UNKNOWN; child = child->next)
        if (mcp_gather_reaches(child, user) &&
            waits_for_tools(shard, arrival, post, child->name, strlen(child->name)))
            return false;
    if (ownership != MCP_OWNED)
        return true; // the call is refused later
    return !waits_for_tools(shard, arrival, post, owner.server, owner.bytes) &&
           tool_fits(shard, post, owner.server, owner.bytes, tool + owner.skipped,
                     tool_bytes - owner.skipped);
}

static void serve_modern_all(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post) {
    assert(shard->index == 0);
    bool is_request = post->message.lookup.kind == BODY_REQUEST;
    if (!all_are_modern(shard, arrival, post) || !mirrors_of_all_fit(shard, arrival, post))
        return;
    struct mcp_client *client =
        is_request ? mcp_client_create(shard, MCP_CLIENT_REQUEST, post->exchange->user, "", 0) : NULL;
    if (client)
        mcp_all_ask(shard, post, client);
    else if (is_request)
        mcp_reply_later(shard, post, 503, 1000, NULL);
    else // a notification has no server at /mcp in this era
        mcp_reply_status(shard, post->exchange, 202, NULL);
}

static void serve_modern(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post,
                         const char *name, size_t bytes) {
    assert(shard->index == 0);
    if (!mcp_header_judge(shard, post))
        return;
    if (!bytes) {
        serve_modern_all(shard, arrival, post);
        return;
    }
    switch (mcp_era_known(shard, name, bytes)) {
    case MCP_ERA_UNKNOWN:
    case MCP_ERA_DOWN:
        mcp_era_wait(shard, arrival, post, name, bytes);
        break;
    case MCP_ERA_LACKING:
        refuse_era(shard, post);
        break;
    case MCP_ERA_THERE:
        if (mirrors_fit(shard, arrival, post, name, bytes))
            mcp_modern_call_post(shard, post, name, bytes);
        break;
    }
}

static void serve_message(struct shard *shard, const struct mcp_arrival *arrival, struct mcp_post *post) {
    struct place place = {post->server, post->server_bytes};
    char name[AGENT_ID_BYTES_MAX];
    if (!find(shard, post, &place))
        return;
    memcpy(name, place.name, place.bytes); // mcp_post_frame overwrites the head
    place.name = post->server = name;
    if (post->message.lookup.kind == BODY_REQUEST && shard->phase != HUB_SERVING)
        refuse_end(shard, post);
    else if (mcp_header_is_modern(post))
        serve_modern(shard, arrival, post, place.name, place.bytes);
    else
        mcp_session_post(shard, post, place.name, place.bytes);
}

static void serve_post(struct shard *shard, const struct mcp_arrival *arrival) {
    assert(shard->index == 0);
    struct mcp_post post;
    if (!is_json(arrival)) {
        refuse_status(shard, arrival->exchange, 415, "the content must be application/json");
        return;
    }
    if (!mcp_post_read(shard, arrival, &post))
        return;
    mcp_post_read_server(&post, arrival);
    serve_message(shard, arrival, &post);
}

// Returns whether the head names a version that isn't one of the legacy era.
static bool names_modern(const struct mcp_arrival *arrival) {
    struct span version = arrival->request.fields[HTTP_MCP_PROTOCOL_VERSION];
    return http_has_field(&arrival->request, HTTP_MCP_PROTOCOL_VERSION) &&
           (http_repeated(&arrival->request, HTTP_MCP_PROTOCOL_VERSION) ||
            !mcp_legacy_version((const char *)arrival->head + version.at, version.bytes));
}

static void serve_stream(struct shard *shard, const struct mcp_arrival *arrival, bool ends) {
    assert(shard->index == 0);
    struct place place = place_of(arrival);
    const struct mcp_post none = {.exchange = arrival->exchange};
    bool json, events;
    if (!find(shard, &none, &place))
        return;
    if (!http_has_field(&arrival->request, HTTP_MCP_SESSION_ID) || names_modern(arrival)) {
        mcp_reply_status(shard, arrival->exchange, 405, "Allow: POST\r\n");
        return;
    }
    mcp_post_accepts(arrival, &json, &events);
    bool goes_on = http_has_field(&arrival->request, HTTP_LAST_EVENT_ID); // a stream of what is in progress
    if (!ends && !goes_on && shard->phase != HUB_SERVING)
        refuse_end(shard, &none);
    else if (!ends && !events)
        refuse_status(shard, arrival->exchange, 406, "the answer is text/event-stream");
    else if (ends)
        mcp_session_delete(shard, arrival, place.name, place.bytes);
    else
        mcp_session_listen(shard, arrival, place.name, place.bytes);
}

static void serve(struct shard *shard, struct mcp_arrival *arrival) {
    assert(shard->index == 0 && mcp_http_of(shard));
    switch (arrival->request.method) {
    case HTTP_POST:
        serve_post(shard, arrival);
        break;
    case HTTP_GET:
    case HTTP_DELETE:
        serve_stream(shard, arrival, arrival->request.method == HTTP_DELETE);
        break;
    default:
        assert(false);
    }
}

// --- A connection that has gone

static void gone(struct shard *shard, struct mcp_exchange *exchange) {
    assert(shard->index == 0);
    struct mcp_call *call = exchange->call;
    struct mcp_client *listener = exchange->listener;
    exchange->call = NULL;
    exchange->listener = NULL;
    if (call)
        call->http = NULL;
    if (listener) {
        listener->listener = NULL;
        listener->used_ms = shard_now_ms(shard);
    }
    mcp_era_leave(shard, exchange);
    mcp_exchange_end(shard, exchange);
    if (call && call->is_initialize && !call->stream) // no client could ever use the session
        mcp_table_close(shard, call->client);
    else if (call && call->is_modern && call->gather)
        mcp_gather_cancel(shard, call->gather);
    else if (call && call->is_modern)
        mcp_call_cancel(shard, call);
}

// --- Routes

static void preflight(const struct http_call *call) {
    struct exchange *http = call->exchange;
    struct span asked = call->request.fields[HTTP_ACCESS_CONTROL_REQUEST_HEADERS];
    struct text lines;
    http->http.fields = "Access-Control-Allow-Methods: POST, GET, DELETE\r\nAccess-Control-Max-Age: 600\r\n";
    if (!asked.bytes || http_repeated(&call->request, HTTP_ACCESS_CONTROL_REQUEST_HEADERS))
        return;
    text_init(&lines);
    text_put(&lines, "Access-Control-Allow-Headers: ");
    text_add(&lines, call->head + asked.at, asked.bytes);
    text_add(&lines, "\r\n", sizeof "\r\n");
    if (lines.failed)
        text_deinit(&lines);
    else
        http->http.lines = lines.bytes;
}

enum { TAKES = HTTP_TAKES_GET | HTTP_TAKES_POST | HTTP_TAKES_DELETE };

static const struct http_route routes[] = {
    {.path = "/mcp",
     .methods = TAKES,
     .serves_drain = true,
     .uses_bearer = true,
     .serve = mcp_exchange_take,
     .preflight = preflight},
    {.path = below,
     .is_below = true,
     .methods = TAKES,
     .serves_drain = true,
     .uses_bearer = true,
     .serve = mcp_exchange_take,
     .preflight = preflight},
};

// Returns a client's first subscription that isn't being ended; or NULL. `of_all`: of the subscriptions to all servers.
static struct mcp_call *next_listen(const struct mcp_client *client, bool of_all) {
    for (struct list *node = client->calls.next; node != &client->calls; node = node->next) {
        struct mcp_call *call = list_entry(node, struct mcp_call, link);
        if (call->is_listen && !call->is_parted && (call->gather || !of_all))
            return call;
    }
    return NULL;
}

// Returns the client of a slot of the shard's peers; NULL: there is none, or the client is being closed.
static struct mcp_client *client_at(const struct shard *shard, uint32_t slot) {
    const struct peer *peer = shard->peers.slots[slot];
    struct mcp_client *client = peer ? mcp_client_of_seat(peer) : NULL;
    return client && !client->is_closed ? client : NULL;
}

// Ends the subscriptions of a client with results, since subscriptions don't end by themselves. `of_all`: only
// subscriptions to all servers.
static void end_listens_of(struct shard *shard, struct mcp_client *client, bool of_all) {
    for (struct mcp_call *call; (call = next_listen(client, of_all));) {
        call->is_parted = true;
        if (call->gather)
            mcp_all_listen_part(shard, call->gather);
        else
            mcp_modern_call_part(shard, call);
    }
}

static void end_listens(struct shard *shard, bool of_all) {
    for (uint32_t slot = 0; mcp_http_of(shard) && slot < shard->peers.capacity; slot++) {
        struct mcp_client *client = client_at(shard, slot);
        if (client)
            end_listens_of(shard, client, of_all);
    }
}

static void forget_servers(struct shard *shard) {
    mcp_era_forget(shard);
    mcp_inventory_forget(shard);
    mcp_server_give_idle(shard);
}

static void close_all(struct shard *shard) {
    if (mcp_http_of(shard)) {
        mcp_era_close(shard);
        forget_servers(shard);
    }
    for (uint32_t slot = 0; mcp_http_of(shard) && slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        struct mcp_client *client = peer ? mcp_client_of_seat(peer) : NULL;
        if (client)
            mcp_table_close(shard, client);
    }
}

static void drain(struct shard *shard) {
    if (shard->phase == HUB_DRAINING)
        end_listens(shard, false);
    else if (shard->phase == HUB_CLOSING)
        close_all(shard);
}

// Closes all clients of a draining hub when no request is pending. Their streams end in good order, as the connections,
// which may be other shards', are still open.
static void turn(struct shard *shard) {
    const struct mcp_http *table = mcp_http_of(shard);
    if (shard->phase == HUB_DRAINING && shard->pending.count == 0 && table && table->count > 0)
        close_all(shard);
}

// Returns a hash of the servers' names in the order of the configuration.
static uint64_t server_set(const struct shard *shard) {
    uint64_t hash = 1;
    for (const struct child_settings *child = shard->settings->children; child; child = child->next) {
        if (child->protocol != CHILD_MCP)
            continue;
        uint64_t own =
            siphash_table(&shard->hub->start_settings.secrets.tables, child->name, strlen(child->name));
        hash = hash_table_hash(hash ^ own, hash);
    }
    return hash;
}

// Tells a session of all servers that the lists have changed.
static void notify_changed(struct shard *shard, struct mcp_client *session) {
    static const char *const kinds[] = {"tools", "prompts", "resources"};
    assert(session->name_bytes == 0 && session->kind == MCP_CLIENT_SESSION);
    for (size_t index = 0; index < sizeof kinds / sizeof *kinds; index++) {
        struct text body;
        text_init(&body);
        mcp_put_list_changed(&body, kinds[index]);
        struct parcel *parcel =
            body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
        if (parcel)
            mcp_stream_take(shard, session, parcel);
        else
            text_deinit(&body);
    }
}

// Ends the calls of a client whose server's section was removed.
static void fail_calls(struct shard *shard, struct mcp_client *client) {
    assert(shard->index == 0 && client->name_bytes > 0);
    for (struct list *node = client->calls.next, *next; node != &client->calls; node = next) {
        next = node->next;
        mcp_call_fail(shard, list_entry(node, struct mcp_call, link));
    }
}

// Ends held calls of all clients whose server's section was removed. Such a call may be approved much later, and must
// not reach another program that has the name by then.
static void fail_held_calls(struct shard *shard) {
    assert(shard->index == 0);
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct mcp_client *client = client_at(shard, slot);
        for (struct list *node = client ? client->calls.next : NULL, *next; node && node != &client->calls;
             node = next) {
            next = node->next;
            mcp_call_fail_held(shard, list_entry(node, struct mcp_call, link));
        }
    }
}

static void review_clients(struct shard *shard, bool is_changed) {
    struct list *all = &mcp_http_of(shard)->clients;
    assert(shard->index == 0);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct mcp_client *client = list_entry(node, struct mcp_client, link);
        next = node->next;
        if (client->name_bytes && !mcp_server_section(shard, client->name, client->name_bytes)) {
            fail_calls(shard, client);
            mcp_table_close(shard, client);
        } else if (!client->name_bytes && is_changed) {
            notify_changed(shard, client);
        }
    }
}

static void reloaded(struct shard *shard) {
    if (!mcp_http_of(shard))
        return;
    uint64_t set = server_set(shard);
    forget_servers(shard);
    fail_held_calls(shard);
    review_clients(shard, set != mcp_http_of(shard)->server_set);
    if (set != mcp_http_of(shard)->server_set)
        end_listens(shard, true);
    mcp_http_of(shard)->server_set = set;
}

// Returns whether the user may call each server whose messages come on the client's streams.
static bool keeps_streams(const struct shard *shard, const struct mcp_client *client) {
    const struct child_settings *child = shard->settings->children;
    if (!client->user || client->kind == MCP_CLIENT_USER) // the hub's own client at a server has no stream
        return true;
    if (client->name_bytes)
        return authz_calls_server(client->user, client->name, client->name_bytes);
    while (child && (child->protocol != CHILD_MCP || mcp_gather_reaches(child, client->user)))
        child = child->next;
    return !child;
}

// Ends the streams of clients that may have lost the right to a server. Calls in progress go on. A client of all
// servers may open its streams again, which then bear messages of the servers that its user may call.
static void rights_changed(struct shard *shard) {
    if (!mcp_http_of(shard))
        return;
    mcp_era_review(shard);
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++) {
        struct mcp_client *client = client_at(shard, slot);
        if (!client || keeps_streams(shard, client))
            continue;
        end_listens_of(shard, client, false);
        mcp_stream_end_listener(shard, client);
    }
}

static const char *start(struct shard *shard) {
    assert(shard->index == 0);
    if (!mcp_table_open(shard))
        return "MCP over HTTP";
    mcp_http_of(shard)->server_set = server_set(shard);
    mcp_exchange_set(serve, gone);
    mcp_era_set(serve);
    http_routes_add(routes, sizeof routes / sizeof *routes);
    return NULL;
}

static void close_table(struct shard *shard) {
    if (mcp_http_of(shard))
        forget_servers(shard);
    mcp_table_free(shard);
}

static bool holds_phase(const struct shard *shard) {
    const struct mcp_http *table = mcp_http_of(shard);
    if (shard->phase == HUB_DRAINING)
        return table && table->count > 0;
    return shard->phase == HUB_STOPPED && mcp_http_shard(shard)->exchanges_out > 0;
}

// The words of --mcp-prefix; the option's value is the word's index.
static const char *const prefixes[] = {"conflict", "always", NULL};

static const struct option options[] = {
    {"max-mcp-sessions", OPTION_COUNT, OPTIONS_MCP, OPTION_RELOADS,
     OPTION_OWN(FEATURE_MCP_HTTP, MCP_OPTION_SESSIONS_MAX), 1, 1u << 20, NULL, "N", "4096", NULL,
     "MCP sessions over HTTP at most; one user may have a quarter of them"},
    {"mcp-session-idle", OPTION_TIME, OPTIONS_MCP, OPTION_RELOADS,
     OPTION_OWN(FEATURE_MCP_HTTP, MCP_OPTION_SESSION_IDLE_NS), OPTION_MS, 24 * OPTION_HOUR, NULL, "TIME",
     "30m", NULL, "end an MCP session after this time without a request or stream"},
    {"mcp-keep-alive", OPTION_TIME, OPTIONS_MCP, OPTION_RELOADS,
     OPTION_OWN(FEATURE_MCP_HTTP, MCP_OPTION_KEEP_ALIVE_NS), OPTION_MS, OPTION_HOUR, NULL, "TIME", "15s",
     NULL, "send a comment on an MCP stream after this time of silence"},
    {"mcp-prefix", OPTION_CHOICE, OPTIONS_MCP, OPTION_RELOADS,
     OPTION_OWN(FEATURE_MCP_HTTP, MCP_OPTION_PREFIX), 0, 0, prefixes, "WHEN", "conflict", NULL,
     "name a tool or prompt NAME__tool at /mcp where several servers have the name, or always"},
    {"mcp-gather", OPTION_TIME, OPTIONS_MCP, OPTION_RELOADS,
     OPTION_OWN(FEATURE_MCP_HTTP, MCP_OPTION_GATHER_NS), OPTION_MS, OPTION_HOUR, NULL, "TIME", "10s", NULL,
     "time that each server has to answer for a list of all servers at /mcp"},
    {"mcp-history", OPTION_SIZE, OPTIONS_MCP, OPTION_RELOADS,
     OPTION_OWN(FEATURE_MCP_HTTP, MCP_OPTION_HISTORY), 0, UINT64_C(1) << 30, NULL, "SIZE", "256K", NULL,
     "size of the events that an MCP session keeps for a client that comes back; 0: none"},
    {.name = NULL},
};

static const struct stats_row mcp_http_gauges[MCP_HTTP_GAUGES + 1] = {
    [MCP_HTTP_GAUGE_CLIENTS] = {"mcp", "connections", "transport=\"mcp\"", NULL, STATS_AFTER(GAUGE_LINES)},
    [MCP_HTTP_GAUGE_SESSIONS] = {"mcp_sessions", "mcp_sessions", NULL,
                                 "Sessions of MCP over HTTP that are open.", STATS_AFTER(GAUGE_BUFFERS)},
};

const struct feature mcp_http_feature = {
    .name = "mcp http",
    .gauges = mcp_http_gauges,
    .stats_order = 3,
    .options = options,
    .relieve = mcp_history_relieve,
    .shard_bytes = sizeof(struct mcp_http_shard),
    .start = start,
    .close = close_table,
    .mail = mcp_exchange_take_mail,
    .reloaded = reloaded,
    .rights_changed = rights_changed,
    .turn = turn,
    .drain = drain,
    .holds_phase = holds_phase,
};
