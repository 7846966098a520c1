#include "router/features/mcp/mcp_client_state.h"

#include <assert.h>
#include <string.h>

#include "core/agents/agent.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/peer_cold.h"
#include "router/features/children/child_mux.h"
#include "router/features/mcp/child_reply.h"
#include "router/forwarding/forward.h"

enum { URI_BYTES = MCP_URI_BYTES_MAX };

// Decodes a string of params into `out`. Returns false if there is none, or if the string is too long.
static bool read_text(const struct shard *shard, const struct parcel *parcel, const char *key, char *out,
                      size_t room, size_t *bytes) {
    if (!parcel->buffer)
        return false;
    assert(parcel->buffer && parcel->body.at + parcel->body.bytes <= parcel->buffer->capacity);
    struct lookup lookup;
    const uint8_t *body = parcel->buffer->bytes + parcel->body.at;
    lookup_body(&lookup, body, parcel->body.bytes, shard_limits(shard)->id_bytes_max);
    struct json_item item = mcp_text(body, &lookup, key);
    *bytes = item.type == JSON_STRING ? json_string_decode(body, item.value, out, room) : SIZE_MAX;
    return *bytes != SIZE_MAX;
}

uint32_t mcp_client_state_version(const struct shard *shard, const struct parcel *parcel) {
    char version[32];
    size_t bytes;
    assert(child_mux_method(parcel) == MCP_INITIALIZE);
    return read_text(shard, parcel, "protocolVersion", version, sizeof version, &bytes)
               ? mcp_legacy_version(version, bytes)
               : 0;
}

// Notes a subscription. If there is no memory, another user's unsubscription ends this user's subscription, too.
void mcp_client_state_subscribe(struct shard *shard, struct mcp_users *users, const struct parcel *parcel) {
    char uri[URI_BYTES];
    size_t bytes;
    assert(parcel->hub_id && child_mux_method(parcel) == MCP_SUBSCRIBE);
    if (read_text(shard, parcel, "uri", uri, sizeof uri, &bytes))
        mcp_request_subscribe(users, parcel->hub_id, uri, bytes);
}

static bool read_level(const struct shard *shard, const struct parcel *parcel, char level[MCP_LEVEL_BYTES]) {
    size_t bytes;
    if (!read_text(shard, parcel, "level", level, MCP_LEVEL_BYTES - 1, &bytes) || memchr(level, 0, bytes))
        return false;
    level[bytes] = 0;
    return true;
}

// Notes the log level that a user has set. The level counts for all users of the process. The next process is told the
// last level of a user who is still here.
static void note_level(const struct shard *shard, struct mcp *mcp, struct mcp_user *user,
                       const struct parcel *parcel) {
    char level[MCP_LEVEL_BYTES];
    if (user && read_level(shard, parcel, level))
        mcp_level_set(&mcp->users, user, level);
}

static bool drop_subscription(struct shard *shard, struct child *child, struct mcp *mcp,
                              struct mcp_user *user, const struct parcel *parcel) {
    char uri[URI_BYTES];
    size_t bytes;
    if (!user || !read_text(shard, parcel, "uri", uri, sizeof uri, &bytes) ||
        !mcp_unsubscribe(&mcp->users, user, uri, bytes))
        return false;
    mcp_request_end(&mcp->users, parcel->hub_id); // if this is a request
    if (parcel->hub_id)
        child_reply_answer(shard, child, parcel->hub_id, "result", (struct piece){"{}", 2});
    return true;
}

bool mcp_client_state_note(struct shard *shard, struct child *child, struct mcp *mcp, struct mcp_user *user,
                           const struct parcel *parcel) {
    enum mcp_method method = child_mux_method(parcel);
    assert(parcel->note);
    if (method == MCP_UNSUBSCRIBE)
        return drop_subscription(shard, child, mcp, user, parcel);
    if (method == MCP_SET_LEVEL && parcel->hub_id)
        note_level(shard, mcp, user, parcel);
    return false;
}

void mcp_client_state_note_own(struct shard *shard, struct mcp *mcp, struct mcp_users *users,
                               const struct mcp_user *user, const struct parcel *parcel) {
    char uri[URI_BYTES];
    char level[MCP_LEVEL_BYTES];
    size_t bytes;
    enum mcp_method method = child_mux_method(parcel);
    assert(user && parcel->hub_id);
    if (method == MCP_SET_LEVEL && read_level(shard, parcel, level))
        memcpy(mcp->level, level, sizeof level);
    else if (method == MCP_SUBSCRIBE)
        mcp_client_state_subscribe(shard, users, parcel);
    else if (method == MCP_UNSUBSCRIBE && read_text(shard, parcel, "uri", uri, sizeof uri, &bytes))
        (void)mcp_unsubscribe(users, user, uri, bytes);
}

// A request of the hub's own to the server.
struct server_request {
    struct shard *shard;
    struct child *child;
    const char *method, *key;
    bool first; // the request is sent before queued messages
};

static void put_request(struct text *body, const struct server_request *request, const char *value,
                        size_t bytes) {
    text_init(body);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(body, (int64_t)own_requests_begin(&request->child->own));
    text_put(body, ",\"method\":");
    text_string(body, request->method, strlen(request->method));
    text_put(body, ",\"params\":{");
    text_string(body, request->key, strlen(request->key));
    text_put(body, ":");
    text_string(body, value, bytes);
    text_put(body, "}}");
}

// Sends a request of the hub's own, which is bound to this process: the next process is told anew.
static void send_request(void *context, const char *value, size_t bytes) {
    const struct server_request *request = context;
    struct peer *stub = request->child->stub;
    struct text body;
    assert(value && bytes <= MCP_URI_BYTES_MAX);
    if (request->child->state != CHILD_RUNNING)
        return;
    bool room = request->first ? queue_limit_has_room_for_urgent(request->shard, stub)
                               : queue_limit_has_room(request->shard, stub);
    if (!room) {
        drop_one(request->shard, COUNT_DROP_OVERLOADED, stub->connection_id, bytes);
        return;
    }
    put_request(&body, request, value, bytes);
    struct parcel *parcel =
        body.failed ? NULL : parcel_from_text(&request->shard->parcels, body.bytes, body.length);
    if (!parcel) {
        text_deinit(&body);
        drop_one(request->shard, COUNT_DROP_NO_MEMORY, stub->connection_id, bytes);
        return;
    }
    if (request->first)
        parcel->lane = LANE_URGENT;
    send_queue_this_process(request->shard, stub, parcel);
}

void mcp_client_state_send(struct shard *shard, struct child *child, const struct mcp *mcp) {
    struct server_request level = {shard, child, "logging/setLevel", "level", true};
    struct server_request resources = {shard, child, "resources/subscribe", "uri", true};
    const char *written = mcp_level(&mcp->users);
    assert(mcp->era == MCP_LEGACY);
    if (written[0])
        send_request(&level, written, strlen(written));
    mcp_visit_resources(&mcp->users, send_request, &resources);
}

void mcp_client_state_send_own(struct shard *shard, struct child *child, const struct mcp *mcp,
                               const struct mcp_user *user) {
    struct server_request level = {shard, child, "logging/setLevel", "level", true};
    struct server_request resources = {shard, child, "resources/subscribe", "uri", true};
    assert(child->of && user);
    if (mcp && mcp->level[0])
        send_request(&level, mcp->level, strlen(mcp->level));
    mcp_visit_subscriptions(user, send_request, &resources);
}

void mcp_client_state_refused(struct shard *shard, struct child *child, uint64_t hub_id) {
    struct server_request request = {shard, child, "resources/unsubscribe", "uri", false};
    mcp_request_refused(mcp_users_of(child), hub_id, send_request, &request);
}

void mcp_client_state_leave(struct shard *shard, struct child *child, struct mcp *mcp,
                            struct mcp_user *user) {
    struct server_request request = {shard, child, "resources/unsubscribe", "uri", false};
    assert(list_empty(&user->registrant.pending));
    mcp_user_leave(&mcp->users, user, send_request, &request);
}

// --- The server's state

struct mcp *mcp_server_state(struct shard *shard, const struct child *child) {
    assert(shard->index == 0);
    struct mcp *mcp = mcp_of_stub(child->stub);
    if (mcp)
        return mcp;
    mcp = quota_take_zeroed(&shard->quota, 1, sizeof *mcp);
    if (!mcp)
        return NULL;
    peer_keep(child->stub, FEATURE_MCP, mcp);
    mcp_users_init(&mcp->users, &shard->hub->start_settings.secrets.tables, &shard->quota);
    parcel_list_init(&mcp->waiting);
    mcp->era = child->modern ? MCP_MODERN : MCP_LEGACY;
    mcp->record = child->record;
    mcp->cancel_ended = child->stub->cold->cancel_ends;
    child->stub->cold->cancel_ends |= !child_is_stand_in(child);
    return mcp;
}

struct mcp_users *mcp_server_state_users(const struct child *child, struct mcp *mcp) {
    assert(mcp_of_stub(child->stub) == mcp);
    if (mcp->serial != child->serial)
        mcp_abandoned_forget(&mcp->users);
    mcp->serial = child->serial;
    return &mcp->users;
}

void mcp_server_state_give(struct shard *shard, struct peer *stub) {
    struct mcp *mcp = mcp_of_stub(stub);
    if (!mcp)
        return;
    stub->cold->cancel_ends = mcp->cancel_ended;
    for (struct parcel *parcel; (parcel = parcel_list_take(&mcp->waiting));)
        send_release(shard, parcel);
    mcp_users_deinit(&mcp->users);
    capabilities_drop(&shard->quota, mcp->answer);
    capabilities_drop(&shard->quota, mcp->opening);
    peer_keep(stub, FEATURE_MCP, NULL);
    quota_give(&shard->quota, mcp);
}

void mcp_client_state_ask(struct shard *shard, const struct message *message, struct mcp_user *user) {
    assert(message_is_request(message) && list_empty(&user->registrant.agents));
    struct agent agent = {.registrant = &user->registrant, .governance = GOVERNANCE_COUNT - 1};
    enum error fault = forward_fault(shard, message, user->registrant.connection);
    if (shard->phase != HUB_SERVING)
        refuse_for(shard, message, ERROR_OVERLOADED, refuse_hub_ends);
    else if (fault)
        refuse_at(shard, message, &agent, fault);
    else
        forward_request(shard, message, &agent, NULL);
}
