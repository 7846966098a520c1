#include "router/features/mcp_http/mcp_all.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/mcp_calls/mcp_body.h"
#include "router/features/mcp_http/mcp_all_answer.h"
#include "router/features/mcp_http/mcp_all_listen.h"
#include "router/features/mcp_http/mcp_answer.h"
#include "router/features/mcp_http/mcp_call.h"
#include "router/features/mcp_http/mcp_catalog.h"
#include "router/features/mcp_http/mcp_inventory.h"
#include "router/features/mcp_http/mcp_modern_call.h"
#include "router/features/mcp_http/mcp_owner.h"
#include "router/features/mcp_http/mcp_reply.h"
#include "router/features/mcp_http/mcp_stream.h"
#include "router/features/mcp_http/mcp_table.h"
#include "router/forwarding/progress.h"
#include "router/methods/cancel_request.h"
#include "router/rights/authz.h"
#include "router/routing/route.h"

// --- Lists

static void put_list(const struct mcp_gather *gather, struct text *out, const char *cursor, size_t bytes) {
    struct span meta = gather->message.lookup.value[KEY_META];
    mcp_all_answer_put_id(gather, out);
    text_put(out, ",\"method\":\"");
    text_put(out, gather->method);
    text_put(out, "\",\"params\":{");
    bool has_meta = lookup_has(&gather->message.lookup, KEY_META);
    if (has_meta) {
        text_put(out, "\"_meta\":");
        text_add(out, mcp_gather_body(gather) + meta.at, meta.bytes);
    }
    if (bytes) {
        text_put(out, has_meta ? ",\"cursor\":" : "\"cursor\":");
        text_add(out, cursor, bytes);
    }
    text_put(out, "}}");
}

static void list_ended(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    enum mcp_list list = (enum mcp_list)gather->step;
    struct mcp_catalog catalog;
    struct text result;
    text_init(&result);
    mcp_catalog_read(shard, gather, list, mcp_option(shard, MCP_OPTION_PREFIX) != 0, &catalog);
    text_put(&result, "\"");
    text_put(&result, mcp_list_row(list)->member);
    text_put(&result, "\":");
    if (catalog.failed)
        result.failed = true;
    else
        mcp_catalog_put(&catalog, &result);
    mcp_catalog_give(shard, &catalog);
    if (gather->call->is_modern)
        text_put(&result, ",\"ttlMs\":0,\"cacheScope\":\"private\"");
    mcp_all_answer_result(shard, gather, &result);
}

// --- The capabilities of all servers

#define ABILITIES(X)                                                                                         \
    X("tools", "{\"listChanged\":true}")                                                                     \
    X("prompts", "{\"listChanged\":true}")                                                                   \
    X("resources", "{\"listChanged\":true}")                                                                 \
    X("logging", "{}")                                                                                       \
    X("completions", "{}")

static bool has_ability(const struct mcp_body *body, const char *name, const char *more) {
    if (!lookup_has(&body->lookup, KEY_RESULT) || body->lookup.type[KEY_RESULT] != JSON_OBJECT)
        return false;
    struct json_item all = json_member(body->bytes, body->lookup.value[KEY_RESULT], "capabilities");
    struct json_item one = all.type == JSON_OBJECT ? json_member(body->bytes, all.value, name) : all;
    if (all.type != JSON_OBJECT || one.type != JSON_OBJECT)
        return false;
    return !more || json_member(body->bytes, one.value, more).type == JSON_TRUE;
}

static bool any_has(struct shard *shard, const struct mcp_gather *gather, const char *name,
                    const char *more) {
    assert(shard->index == 0);
    bool found = false;
    for (uint32_t index = 0; index < gather->count && !found; index++) {
        struct mcp_body body;
        const struct parcel *answer = gather->parts[index].answers.first;
        if (!answer || !mcp_body_read(shard, answer, &body))
            continue;
        found = has_ability(&body, name, more);
        mcp_body_give(&body);
    }
    return found;
}

static void put_capabilities(struct shard *shard, const struct mcp_gather *gather, struct text *out) {
    assert(shard->index == 0);
    static const char *const rows[][2] = {
#define X(name, value) {name, value},
        ABILITIES(X)
#undef X
    };
    const char *before = "\"capabilities\":{";
    for (size_t index = 0; index < sizeof rows / sizeof *rows; index++) {
        bool is_resources = strcmp(rows[index][0], "resources") == 0;
        if (!any_has(shard, gather, rows[index][0], NULL))
            continue;
        text_put(out, before);
        text_string(out, rows[index][0], strlen(rows[index][0]));
        text_put(out, ":");
        text_put(out, is_resources && any_has(shard, gather, "resources", "subscribe")
                          ? "{\"listChanged\":true,\"subscribe\":true}"
                          : rows[index][1]);
        before = ",";
    }
    text_put(out, *before == ',' ? "}" : "\"capabilities\":{}");
}

static const char server_info[] = "{\"name\":\"patchbay\",\"version\":\"" PATCHBAY_VERSION "\"}";

// Writes the client's protocol version if that version is of the legacy era, else the latest version of that era.
static void put_version(const struct mcp_gather *gather, struct text *out) {
    char text[32];
    struct json_item version_text =
        mcp_text(mcp_gather_body(gather), &gather->message.lookup, "protocolVersion");
    size_t bytes = version_text.type == JSON_STRING
                       ? json_string_decode(mcp_gather_body(gather), version_text.value, text, sizeof text)
                       : SIZE_MAX;
    uint32_t version = bytes == SIZE_MAX ? 0 : mcp_legacy_version(text, bytes);
    text_put(out, "\"protocolVersion\":");
    text_put(out, version ? mcp_legacy_version_text(version) : "\"" MCP_LEGACY_VERSION "\"");
    text_put(out, ",");
}

// Notes which servers have refused to open a session: the client's session shows nothing of such a server. An error
// of the hub itself, as for a full queue, is no refusal of the server.
static void note_sessions(struct shard *shard, const struct mcp_gather *gather) {
    for (uint32_t index = 0; index < gather->count; index++) {
        const struct mcp_part *part = &gather->parts[index];
        struct mcp_body body;
        if (!part->answers.first || !mcp_body_read(shard, part->answers.first, &body))
            continue;
        int64_t code = mcp_body_code(&body);
        if (!error_code_is_hub_mcp(code))
            mcp_inventory_note_sessions(shard, part->name, part->name_bytes, code != 0);
        mcp_body_give(&body);
    }
}

static void described(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    struct text result;
    bool is_modern = gather->call->is_modern;
    text_init(&result);
    if (is_modern)
        text_put(&result, "\"supportedVersions\":[\"2026-07-28\"],");
    else
        put_version(gather, &result);
    if (!is_modern)
        note_sessions(shard, gather);
    put_capabilities(shard, gather, &result);
    text_put(&result, ",\"serverInfo\":");
    text_put(&result, server_info);
    if (is_modern) {
        text_put(
            &result,
            ",\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":");
        text_put(&result, server_info);
        text_put(&result, "}");
    }
    mcp_all_answer_result(shard, gather, &result);
}

// --- Servers that are asked one after another

static void try_next(struct shard *shard, struct mcp_gather *gather);

static void one_ended(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    struct mcp_part *part = &gather->parts[gather->step];
    bool is_last = gather->step + 1 >= gather->count;
    if (!gather->is_cancelled && part->failed && !is_last) {
        gather->step++;
        try_next(shard, gather);
        return;
    }
    struct parcel *answer = gather->is_cancelled ? NULL : parcel_list_take(&part->answers);
    if (answer)
        mcp_stream_answer(shard, gather->call, answer, 200, NULL);
    else
        mcp_stream_end(shard, gather->call);
    mcp_all_answer_end(shard, gather);
}

static void try_next(struct shard *shard, struct mcp_gather *gather) {
    mcp_gather_ask_one(shard, gather, gather->step);
}

// --- A log level for all servers

static void level_ended(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    struct text result;
    uint32_t good = 0;
    for (uint32_t index = 0; index < gather->count; index++)
        good += !gather->parts[index].failed;
    text_init(&result);
    if (good || !gather->count)
        mcp_all_answer_result(shard, gather, &result);
    else
        mcp_all_answer_refuse(shard, gather, ERROR_METHOD_NOT_FOUND, "method", "logging/setLevel",
                              strlen("logging/setLevel"));
}

// --- Tools and prompts by name

// Returns the string of params, or of params.ref, that names the subject of a request; type JSON_NONE: there is none.
static struct json_item subject_of(const struct mcp_gather *gather) {
    const uint8_t *body = mcp_gather_body(gather);
    struct json_item reference = {0}, subject;
    if (!gather->is_reference)
        return mcp_text(body, &gather->message.lookup, gather->subject);
    if (lookup_has(&gather->message.lookup, KEY_PARAMS))
        reference = json_member(body, gather->message.lookup.value[KEY_PARAMS], "ref");
    subject = reference;
    if (reference.type == JSON_OBJECT)
        subject = json_member(body, reference.value, gather->subject);
    return subject.type == JSON_STRING ? subject : (struct json_item){0};
}

// Sends the client's message to the server of a part. `own` replaces the name or URI, because the server doesn't know
// the prefix. Frees the gather.
static void pass_to(struct shard *shard, struct mcp_gather *gather, uint32_t index, const char *own,
                    size_t bytes) {
    assert(shard->index == 0);
    struct mcp_call *call = gather->call;
    struct json_item name = subject_of(gather);
    struct directives directives = gather->unit.directives;
    uint32_t behind = name.value.at + name.value.bytes;
    char server[AGENT_ID_BYTES_MAX];
    uint32_t server_bytes = gather->parts[index].name_bytes;
    struct text body;
    memcpy(server, gather->parts[index].name, server_bytes);
    gather->is_passed = true;
    text_init(&body);
    text_add(&body, mcp_gather_body(gather), name.value.at);
    text_string(&body, own, bytes);
    text_add(&body, mcp_gather_body(gather) + behind, gather->frame.body.bytes - behind);
    mcp_gather_free(shard, gather);
    call = mcp_modern_call_move(shard, call, server, server_bytes);
    mcp_call_send(shard, call, server, server_bytes, &body, &directives);
}

// Adds the name under which an element is shown. Skips a hidden element, because a call by its name reaches another
// element.
static void put_candidate(const struct mcp_element *element, struct text *out) {
    struct text name;
    if (element->is_hidden)
        return;
    text_init(&name);
    text_add(&name, element->prefix, element->prefix_bytes);
    text_add(&name, element->name, element->name_bytes);
    text_put(out, out->bytes[out->length - 1] == '[' ? "" : ",");
    text_string(out, name.bytes, name.length);
    out->failed |= name.failed;
    text_deinit(&name);
}

static size_t read_name(const struct mcp_gather *gather, char *out, size_t capacity) {
    struct json_item name = subject_of(gather);
    return name.type == JSON_STRING ? json_string_decode(mcp_gather_body(gather), name.value, out, capacity)
                                    : SIZE_MAX;
}

enum { NAME_BYTES_MAX = 4096 };

// Handles the arrival of all lists: passes the call on to the server that has the name, or refuses the call.
static void name_found(struct shard *shard, struct mcp_gather *gather) {
    assert(shard->index == 0);
    char name[NAME_BYTES_MAX];
    size_t bytes = read_name(gather, name, sizeof name);
    struct mcp_catalog catalog;
    struct text candidates;
    uint32_t found = UINT32_MAX, count = 0;
    mcp_catalog_read(shard, gather, (enum mcp_list)gather->step, false, &catalog);
    text_init(&candidates);
    text_put(&candidates, "\"candidates\":[");
    for (uint32_t index = 0; !catalog.failed && index < catalog.count; index++) {
        const struct mcp_element *element = &catalog.elements[index];
        if (element->name_bytes != bytes || memcmp(element->name, name, bytes) != 0 || element->part == found)
            continue;
        found = element->part;
        count++;
        put_candidate(element, &candidates);
    }
    text_put(&candidates, "]");
    mcp_catalog_give(shard, &catalog);
    if (count > 1 && !gather->is_cancelled) {
        mcp_all_answer_error(shard, gather, ERROR_INVALID_PARAMS, &candidates);
        return;
    }
    text_deinit(&candidates);
    if (count == 1 && !gather->is_cancelled)
        pass_to(shard, gather, found, name, bytes);
    else
        mcp_all_answer_refuse(shard, gather, ERROR_INVALID_PARAMS, "name", name, bytes);
}

// Asks each server for all pages of a list, and then calls `ended`.
static void ask_for_list(struct shard *shard, struct mcp_gather *gather, enum mcp_list list,
                         void (*ended)(struct shard *shard, struct mcp_gather *gather)) {
    assert(ended);
    gather->step = list;
    gather->method = mcp_list_row(list)->method;
    gather->list = mcp_list_row(list)->member;
    gather->pages = true;
    gather->put = put_list;
    gather->ended = ended;
    mcp_gather_ask(shard, gather);
}

static uint32_t part_of(const struct mcp_gather *gather, const struct mcp_owner *owner) {
    uint32_t index = 0;
    while (index < gather->count && (gather->parts[index].name_bytes != owner->bytes ||
                                     memcmp(gather->parts[index].name, owner->server, owner->bytes) != 0))
        index++;
    return index;
}

// Sends the client's message to the server that is known to have the name or URI. Returns false if no server is known,
// or several servers are.
static bool pass_to_owner(struct shard *shard, struct mcp_gather *gather, enum mcp_list list,
                          const char *name, size_t bytes) {
    struct mcp_owner owner;
    if (mcp_owner_find(shard, gather->call->client->user, !gather->call->is_modern, list, name, bytes,
                       &owner) != MCP_OWNED)
        return false;
    uint32_t index = part_of(gather, &owner);
    assert(index < gather->count && owner.skipped <= bytes);
    pass_to(shard, gather, index, name + owner.skipped, bytes - owner.skipped);
    return true;
}

// Returns whether the user may call a tool of this name at any of the servers. The tool need not exist.
static bool may_call_tool(const struct mcp_gather *gather, const char *name, size_t bytes) {
    const struct user *user = gather->call->client->user;
    bool may_call = !user;
    for (uint32_t index = 0; index < gather->count && !may_call; index++)
        may_call =
            authz_calls_tool(user, gather->parts[index].name, gather->parts[index].name_bytes, name, bytes);
    return may_call;
}

static void find_name(struct shard *shard, struct mcp_gather *gather, enum mcp_list list) {
    assert(shard->index == 0);
    char name[NAME_BYTES_MAX];
    gather->subject = "name";
    size_t bytes = read_name(gather, name, sizeof name);
    if (bytes == SIZE_MAX)
        mcp_all_answer_refuse(shard, gather, ERROR_INVALID_PARAMS, "field", "params.name",
                              strlen("params.name"));
    else if (pass_to_owner(shard, gather, list, name, bytes))
        return;
    else if (list == MCP_TOOLS && gather->count && !may_call_tool(gather, name, bytes))
        mcp_all_answer_refuse_right(shard, gather, RULE_CALL);
    else
        ask_for_list(shard, gather, list, name_found);
}

// --- Requests to the server that lists a resource or prompt

static void try_first(struct shard *shard, struct mcp_gather *gather) {
    assert(gather->count > 0);
    gather->pages = false;
    gather->is_passed = true;
    gather->step = 0;
    gather->put = mcp_gather_put_same;
    gather->ended = one_ended;
    try_next(shard, gather);
}

static void listed_found(struct shard *shard, struct mcp_gather *gather) {
    char name[NAME_BYTES_MAX];
    struct mcp_catalog catalog;
    enum mcp_list list = (enum mcp_list)gather->step;
    mcp_catalog_read(shard, gather, list, false, &catalog); // notes the lists in the inventory
    mcp_catalog_give(shard, &catalog);
    for (uint32_t index = 0; index < gather->count; index++) {
        struct mcp_part *part = &gather->parts[index];
        for (struct parcel *page; (page = parcel_list_take(&part->answers));)
            send_release(shard, page);
        part->pages = 0;
    }
    size_t bytes = read_name(gather, name, sizeof name);
    if (gather->is_cancelled) {
        mcp_stream_end(shard, gather->call);
        mcp_all_answer_end(shard, gather);
        return;
    }
    if (!pass_to_owner(shard, gather, list, name, bytes))
        try_first(shard, gather);
}

// Sends a request to the server that lists its subject. If no server does, asks one server after another.
static void find_listed(struct shard *shard, struct mcp_gather *gather, enum mcp_list list,
                        const char *subject) {
    char name[NAME_BYTES_MAX];
    struct mcp_owner owner;
    gather->subject = subject;
    size_t bytes = read_name(gather, name, sizeof name);
    enum mcp_ownership ownership = bytes == SIZE_MAX
                                       ? MCP_OWNED_BY_NONE
                                       : mcp_owner_find(shard, gather->call->client->user,
                                                        !gather->call->is_modern, list, name, bytes, &owner);
    if (ownership == MCP_OWNED)
        (void)pass_to_owner(shard, gather, list, name, bytes);
    else if (ownership == MCP_OWNED_UNKNOWN)
        ask_for_list(shard, gather, list, listed_found);
    else
        try_first(shard, gather);
}

static void complete(struct shard *shard, struct mcp_gather *gather) {
    gather->is_reference = true;
    gather->subject = "name";
    bool is_prompt = subject_of(gather).type == JSON_STRING;
    find_listed(shard, gather, is_prompt ? MCP_PROMPTS : MCP_RESOURCES, is_prompt ? "name" : "uri");
}

// --- Requests

static bool method_is_one_of(const struct message *message, const char *const *methods) {
    for (; *methods; methods++)
        if (message_method_is(message, *methods))
            return true;
    return false;
}

static enum mcp_list list_named(const struct message *message) {
    enum mcp_list list = 0;
    while (list < MCP_LISTS_COUNT && !message_method_is(message, mcp_list_row(list)->method))
        list++;
    return list;
}

static void gather_list(struct shard *shard, struct mcp_gather *gather, const struct mcp_post *post,
                        enum mcp_list list) {
    assert(shard->index == 0);
    if (post->params[MCP_PARAM_CURSOR].type != JSON_NONE) {
        mcp_all_answer_refuse(shard, gather, ERROR_INVALID_PARAMS, "field", "params.cursor",
                              strlen("params.cursor"));
        return;
    }
    ask_for_list(shard, gather, list, list_ended);
}

static void ask_all(struct shard *shard, struct mcp_gather *gather,
                    void (*ended)(struct shard *shard, struct mcp_gather *gather)) {
    assert(shard->index == 0);
    gather->put = mcp_gather_put_same;
    gather->ended = ended;
    mcp_gather_ask(shard, gather);
}

static void dispatch(struct shard *shard, struct mcp_gather *gather, const struct mcp_post *post) {
    assert(shard->index == 0);
    static const char *const to_one[] = {"resources/read", "resources/subscribe", "resources/unsubscribe",
                                         NULL};
    const struct message *message = &post->message;
    enum mcp_list list = list_named(message);
    if (list < MCP_LISTS_COUNT) {
        gather_list(shard, gather, post, list);
    } else if (post->method == MCP_INITIALIZE || post->method == MCP_DISCOVER) {
        ask_all(shard, gather, described);
    } else if (message_method_is(message, "tools/call") || message_method_is(message, "prompts/get")) {
        find_name(shard, gather, message_method_is(message, "tools/call") ? MCP_TOOLS : MCP_PROMPTS);
    } else if (method_is_one_of(message, to_one) && gather->count) {
        find_listed(shard, gather, MCP_RESOURCES, "uri");
    } else if (message_method_is(message, "completion/complete") && gather->count) {
        complete(shard, gather);
    } else if (post->method == MCP_LISTEN && gather->call->is_modern && post->takes_events) {
        mcp_all_listen_begin(shard, gather);
    } else if (post->method == MCP_PING) {
        struct text nothing;
        text_init(&nothing);
        mcp_all_answer_result(shard, gather, &nothing);
    } else if (post->method == MCP_SET_LEVEL) {
        ask_all(shard, gather, level_ended);
    } else {
        mcp_all_answer_refuse(shard, gather, ERROR_METHOD_NOT_FOUND, "method", message->method,
                              message->method_bytes);
    }
}

static void answered(struct shard *shard, struct mcp_call *call, struct parcel *answer) {
    assert(shard->index == 0);
    struct mcp_client *client = call->client;
    mcp_answer_give(shard, call, answer);
    call->exchange = NULL;
    mcp_call_free(shard, call);
    if (client->kind == MCP_CLIENT_REQUEST && list_empty(&client->calls))
        mcp_table_close(shard, client);
}

void mcp_all_ask(struct shard *shard, struct mcp_post *post, struct mcp_client *client) {
    struct mcp_exchange *http = post->exchange;
    struct mcp_call *call = mcp_call_begin(shard, client, http);
    assert(client->name_bytes == 0);
    if (call) {
        call->answered = answered;
        call->is_modern = client->kind == MCP_CLIENT_REQUEST;
        call->is_initialize = post->method == MCP_INITIALIZE;
        call->logs = call->is_modern && post->meta[MCP_POST_LOG_LEVEL].type == JSON_STRING;
        call->takes_json = post->takes_json;
        call->takes_events = post->takes_events;
        mcp_post_frame(post);
    }
    struct mcp_gather *gather = call ? mcp_gather_begin(shard, call, post) : NULL;
    if (gather) {
        gather->client_for = call->is_modern ? mcp_modern_call_client_for : NULL;
        dispatch(shard, gather, post);
        return;
    }
    if (call) {
        call->http = NULL;
        http->call = NULL;
        mcp_call_settle(shard, call);
        mcp_call_free(shard, call);
    }
    mcp_reply_later(shard, post, 503, 1000, NULL);
    if (client->kind == MCP_CLIENT_REQUEST && list_empty(&client->calls))
        mcp_table_close(shard, client);
}

// --- Notifications

// Cancels the call with this id if the hub itself answers the call. Returns false if there is no such call.
static bool cancel_own(struct shard *shard, const struct message *message, struct mcp_client *session) {
    assert(shard->index == 0);
    struct json_item named = {0};
    if (lookup_has(&message->lookup, KEY_PARAMS))
        named = json_member(message->body, message->lookup.value[KEY_PARAMS], "requestId");
    if (named.type != JSON_STRING && named.type != JSON_NUMBER)
        return false;
    for (struct list *node = session->calls.prev; node != &session->calls; node = node->prev) {
        struct mcp_call *call = list_entry(node, struct mcp_call, link);
        struct mcp_gather *gather = call->gather;
        if (!gather || !json_same(message->body, named.value, mcp_gather_body(gather),
                                  gather->message.lookup.value[KEY_ID]))
            continue;
        gather->error = ERROR_CANCELLED;
        mcp_gather_cancel(shard, gather);
        return true;
    }
    return false;
}

static bool attach(struct shard *shard, struct mcp_client *session, const char *name) {
    return peer_cold_attach(&shard->quota, session->seat->cold, name, strlen(name));
}

static void notify_servers(struct shard *shard, struct message *message, struct mcp_client *session) {
    assert(shard->index == 0);
    for (const struct child_settings *child = shard->settings->children; child; child = child->next)
        if (mcp_gather_serves(shard, child, session->user, true) && attach(shard, session, child->name))
            route_attached(shard, message);
}

void mcp_all_notify(struct shard *shard, struct mcp_post *post, struct mcp_client *session) {
    struct mcp_exchange *http = post->exchange;
    struct message *message = &post->message;
    assert(session->name_bytes == 0 && message->lookup.kind == BODY_NOTIFICATION);
    mcp_post_frame(post);
    message->peer = session->seat;
    post->frame = route_set_user_header(shard, session->seat, &post->frame);
    if (post->method == MCP_CANCELLED) {
        if (!cancel_own(shard, message, session))
            cancel_request_route(shard, message);
    } else if (post->method == MCP_INITIALIZED) {
        notify_servers(shard, message, session);
    } else if (post->method == MCP_PROGRESS) {
        (void)progress_route(shard, message);
    }
    mcp_reply_status(shard, http, 202, NULL);
}
