#include "router/features/mcp_http/mcp_era.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/send.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_client.h"
#include "router/features/mcp_http/mcp_inventory.h"
#include "router/features/mcp_http/mcp_modern_call.h"
#include "router/features/mcp_http/mcp_post.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/rights/authz.h"

// An arrival that waits. Its buffer is held.
struct mcp_wait {
    struct list link;
    struct mcp_post post; // as read when the wait began; the settings may have changed since
    bool is_for_all;      // the arrival is at /mcp, and doesn't wait for a slow server
};

static mcp_exchange_serve *serve_again;

void mcp_era_set(mcp_exchange_serve *serve) {
    serve_again = serve;
}

enum mcp_knowledge mcp_era_known(const struct shard *shard, const char *name, size_t bytes) {
    assert(shard->index == 0);
    const struct mcp_server *server = mcp_server_find(shard, name, bytes);
    if (!server)
        return MCP_ERA_UNKNOWN;
    if (server->is_asked)
        return server->is_late ? MCP_ERA_DOWN : MCP_ERA_UNKNOWN;
    bool is_down = server->era == MCP_ERA_UNKNOWN && shard_now_ms(shard) < server->down_until_ms;
    return is_down ? MCP_ERA_DOWN : server->era;
}

// --- Arrivals that wait

static void give_wait(struct shard *shard, struct mcp_wait *wait) {
    assert(shard->index == 0);
    list_remove(&wait->link);
    wait->post.exchange->wait = NULL;
    buffer_drop(wait->post.frame.buffer);
    quota_give(&shard->quota, wait);
}

static struct mcp_arrival arrival_of(const struct mcp_wait *wait) {
    struct mcp_arrival arrival = {.exchange = wait->post.exchange, .frame = &wait->post.frame};
    arrival.head = wait->post.head;
    http_read(arrival.head, wait->post.frame.unit, &arrival.request);
    return arrival;
}

void mcp_era_leave(struct shard *shard, struct mcp_exchange *exchange) {
    if (!exchange->wait)
        return;
    mcp_reply_note_post_left(shard, &exchange->wait->post);
    give_wait(shard, exchange->wait);
}

static void serve_one(struct shard *shard, struct mcp_wait *wait) {
    assert(shard->index == 0);
    struct mcp_arrival arrival = arrival_of(wait);
    list_remove(&wait->link);
    wait->post.exchange->wait = NULL;
    serve_again(shard, &arrival);
    buffer_drop(wait->post.frame.buffer);
    quota_give(&shard->quota, wait);
}

static void refuse_one(struct shard *shard, struct mcp_wait *wait, const struct mcp_server *server) {
    assert(shard->index == 0);
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", server->name, server->name_bytes);
    reply_data_text(&data, "fault", "the server doesn't say whether it speaks this era");
    wait->post.exchange->wait = NULL;
    mcp_reply_later(shard, &wait->post, 503, 1000, &data);
    list_remove(&wait->link);
    buffer_drop(wait->post.frame.buffer);
    quota_give(&shard->quota, wait);
}

// Serves the arrivals that wait for a server. `refuses`: refuses them if the era is still unknown. Arrivals at /mcp are
// served all the same. So are arrivals whose server's section was removed, because serving refuses them.
static void settle(struct shard *shard, struct mcp_server *server, bool refuses) {
    struct list waits;
    assert(!server->is_asked);
    list_init(&waits);
    list_move_all(&server->waits, &waits); // arrivals that wait anew aren't in this list
    refuses &= server->era == MCP_ERA_UNKNOWN && mcp_server_section(shard, server->name, server->name_bytes);
    while (!list_empty(&waits)) {
        struct mcp_wait *wait = list_entry(waits.next, struct mcp_wait, link);
        if (refuses && !wait->is_for_all)
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
    return error_code_is_hub_mcp(code) ? MCP_ERA_UNKNOWN : code == -32601 ? MCP_ERA_LACKING : MCP_ERA_THERE;
}

static bool ask(struct shard *shard, struct mcp_server *server, const struct user *user);

// Asks a server for its era once more, in the name of the first user who waits and may call the server. Returns false
// if there is no such user, or no room.
static bool ask_again(struct shard *shard, struct mcp_server *server) {
    assert(server->is_asked);
    if (shard->phase != HUB_SERVING)
        return false;
    LIST_EACH (struct mcp_wait, wait, &server->waits, link) {
        const struct user *user = wait->post.exchange->user;
        if (!user || authz_calls_server(user, server->name, server->name_bytes))
            return ask(shard, server, user);
    }
    return false;
}

static void answered(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_client *client = call->client;
    struct mcp_server *server = mcp_server_find(shard, client->name, client->name_bytes);
    enum mcp_knowledge era = read_answer(shard, call, answer);
    bool is_left = !answer && client->is_closed; // its user is gone, and others may wait
    if (answer)
        send_release(shard, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
    mcp_modern_call_rest(shard, client);
    if (!server || (is_left && ask_again(shard, server)))
        return;
    server->era = era;
    server->is_asked = false;
    server->down_until_ms = shard_now_ms(shard) + 1000;
    settle(shard, server, !is_left);
}

// Serves the arrivals at /mcp, which don't wait for a slow server. All other arrivals wait for the answer.
static void question_is_late(struct shard *shard, struct mcp_call *call) {
    const struct mcp_client *client = call->client;
    struct mcp_server *server = mcp_server_find(shard, client->name, client->name_bytes);
    struct list waits;
    if (!server || !server->is_asked)
        return;
    server->is_late = true;
    list_init(&waits);
    LIST_EACH (struct mcp_wait, wait, &server->waits, link) {
        if (!wait->is_for_all)
            continue;
        list_remove(&wait->link);
        list_append(&waits, &wait->link);
    }
    while (!list_empty(&waits))
        serve_one(shard, list_entry(waits.next, struct mcp_wait, link));
}

static void put_question(struct text *body, const char *method, const char *cursor, size_t bytes) {
    text_init(body);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    text_put(body, method);
    text_put(body,
             "\",\"params\":{\"_meta\":{"
             "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
             "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"patchbay\",\"version\":\"" PATCHBAY_VERSION
             "\"},\"io.modelcontextprotocol/clientCapabilities\":{}}");
    if (bytes) {
        text_put(body, ",\"cursor\":");
        text_add(body, cursor, bytes);
    }
    text_put(body, "}}");
}

// Sends a question in the name of a user, and takes the body. Returns false if there is no room.
static bool send_question(struct shard *shard, const struct mcp_server *server, const struct user *user,
                          struct text *body,
                          void (*take_answer)(struct shard *shard, struct mcp_call *call,
                                              struct parcel *answer)) {
    assert(shard->index == 0);
    struct mcp_client *client = mcp_modern_call_client(shard, user, server->name, server->name_bytes);
    struct mcp_call *call = client ? mcp_call_begin(shard, client, NULL) : NULL;
    struct directives directives = {.has_timeout = true};
    if (!call) {
        text_deinit(body);
        if (client)
            mcp_modern_call_rest(shard, client);
        return false;
    }
    directives.timeout_ms = (uint32_t)(mcp_option(shard, MCP_OPTION_GATHER_NS) / 1000000);
    call->answered = take_answer;
    call->late = take_answer == answered ? question_is_late : NULL;
    call->is_question = true;
    call->is_modern = true;
    mcp_call_send(shard, call, server->name, server->name_bytes, body,
                  take_answer == answered ? NULL : &directives);
    return true;
}

// Asks a server for its era. Returns false if no question was sent. The answer may have been taken before this returns,
// if the hub refuses the question.
static bool ask(struct shard *shard, struct mcp_server *server, const struct user *user) {
    struct text body;
    put_question(&body, "server/discover", NULL, 0);
    server->is_asked = true;
    server->is_late = false;
    if (send_question(shard, server, user, &body, answered))
        return true;
    server->is_asked = false;
    server->down_until_ms =
        shard_now_ms(shard) + 1000; // or an arrival that is served again would ask again at once
    return false;
}

// --- The tools

static void end_lists(struct shard *shard, struct mcp_server *server) {
    server->is_listing = false;
    if (!server->is_asked) // else the arrivals wait for the era, too
        settle(shard, server, false);
}

static void take_tools(struct shard *shard, struct mcp_call *call, struct parcel *answer);

// Takes a page of a server's tools. Returns true if the next page was asked for.
static bool take_page(struct shard *shard, struct mcp_server *server, const struct user *user,
                      const struct parcel *answer) {
    enum { PAGES_MAX = 1000 };
    struct mcp_body body;
    struct text question;
    struct json_item next = {0};
    bool is_good = answer && mcp_body_read(shard, answer, &body);
    bool is_list =
        is_good && lookup_has(&body.lookup, KEY_RESULT) && body.lookup.type[KEY_RESULT] == JSON_OBJECT;
    if (is_list) {
        next = json_member(body.bytes, body.lookup.value[KEY_RESULT], "nextCursor");
        mcp_inventory_add(shard, server->name, server->name_bytes, MCP_TOOLS, &body, server->pages++ == 0,
                          next.type != JSON_STRING);
    } else {
        mcp_inventory_miss(shard, server->name, server->name_bytes, MCP_TOOLS);
    }
    bool goes_on = next.type == JSON_STRING && server->pages < PAGES_MAX;
    if (goes_on)
        put_question(&question, "tools/list", (const char *)body.bytes + next.value.at, next.value.bytes);
    if (is_good)
        mcp_body_give(&body);
    return goes_on && send_question(shard, server, user, &question, take_tools);
}

static void take_tools(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    struct mcp_client *client = call->client;
    struct mcp_server *server = mcp_server_find(shard, client->name, client->name_bytes);
    const struct user *user = client->user;
    call->exchange = NULL;
    mcp_call_free(shard, call);
    mcp_modern_call_rest(shard, client);
    bool goes_on = server && take_page(shard, server, user, answer);
    if (answer)
        send_release(shard, answer);
    if (server && !goes_on)
        end_lists(shard, server);
}

void mcp_era_ask_tools(struct shard *shard, const struct user *user, const char *name, size_t bytes) {
    struct mcp_server *server = mcp_server_take(shard, name, bytes);
    struct text body;
    if (!server || server->is_listing)
        return;
    put_question(&body, "tools/list", NULL, 0);
    server->is_listing = true;
    server->pages = 0;
    if (send_question(shard, server, user, &body, take_tools))
        return;
    server->is_listing = false;
    mcp_inventory_miss(shard, name, bytes, MCP_TOOLS);
}

// --- Waiting

// Copies a post into a wait, and holds the buffer to which the post points.
static void keep_post(struct mcp_wait *wait, const struct mcp_arrival *arrival, const struct mcp_post *post) {
    struct mcp_post *kept = &wait->post;
    *kept = *post;
    kept->http = NULL;
    kept->frame.unit = &kept->unit;
    kept->message.frame = &kept->frame;
    mcp_post_read_server(kept, arrival);
    buffer_hold(kept->frame.buffer);
}

// Makes an arrival wait for a server. Returns false if the arrival was refused, for want of memory.
static bool wait_at(struct shard *shard, const struct mcp_arrival *arrival, const struct mcp_post *post,
                    struct mcp_server *server) {
    struct mcp_exchange *exchange = arrival->exchange;
    struct mcp_wait *wait = server ? quota_take(&shard->quota, sizeof *wait) : NULL;
    assert(!exchange->wait && !exchange->call && post->head == arrival->head);
    if (!wait) {
        mcp_reply_later(shard, post, 503, 1000, NULL);
        return false;
    }
    keep_post(wait, arrival, post);
    wait->is_for_all = arrival->request.line.path.bytes == sizeof "/mcp" - 1;
    exchange->wait = wait;
    list_append(&server->waits, &wait->link);
    return true;
}

void mcp_era_wait(struct shard *shard, const struct mcp_arrival *arrival, const struct mcp_post *post,
                  const char *name, size_t bytes) {
    struct mcp_server *server = mcp_server_take(shard, name, bytes);
    if (wait_at(shard, arrival, post, server) && !server->is_asked &&
        !ask(shard, server, arrival->exchange->user))
        settle(shard, server, true);
}

bool mcp_era_wait_for_tools(struct shard *shard, const struct mcp_arrival *arrival,
                            const struct mcp_post *post, const char *name, size_t bytes) {
    struct mcp_server *server = mcp_server_find(shard, name, bytes);
    if (!server || !server->is_listing)
        return false;
    (void)wait_at(shard, arrival, post, server);
    return true;
}

void mcp_era_review(struct shard *shard) {
    assert(shard->index == 0);
    LIST_EACH (struct mcp_server, server, &mcp_http_of(shard)->servers, link) {
        struct list waits;
        list_init(&waits);
        LIST_EACH (struct mcp_wait, wait, &server->waits, link) {
            const struct user *user = wait->post.exchange->user;
            if (!user || authz_calls_server(user, server->name, server->name_bytes))
                continue;
            list_remove(&wait->link);
            list_append(&waits, &wait->link);
        }
        while (!list_empty(&waits))
            serve_one(shard, list_entry(waits.next, struct mcp_wait, link));
    }
}

void mcp_era_forget(struct shard *shard) {
    assert(shard->index == 0);
    struct list *all = &mcp_http_of(shard)->servers;
    for (struct list *node = all->next; node != all; node = node->next)
        list_entry(node, struct mcp_server, link)->era = MCP_ERA_UNKNOWN;
}

void mcp_era_close(struct shard *shard) {
    assert(shard->index == 0);
    struct list *all = &mcp_http_of(shard)->servers;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct mcp_server *server = list_entry(node, struct mcp_server, link);
        server->era = MCP_ERA_UNKNOWN;
        server->is_asked = server->is_listing = false;
        settle(shard, server, true);
        server->is_listing = false; // later pages are dropped
    }
}
