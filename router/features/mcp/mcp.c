#include "router/features/mcp/mcp.h"

#include <assert.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/memory.h"
#include "router/engine/message/progress_token.h"
#include "router/engine/request/completion.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/features/children/child_absence.h"
#include "router/features/children/child_mux.h"
#include "router/features/children/children.h"
#include "router/features/mcp/child_reply.h"
#include "router/features/mcp/mcp_client_state.h"
#include "router/features/mcp/mcp_modern.h"
#include "router/features/mcp/mcp_request_ids.h"
#include "router/features/mcp/per_client.h"
#include "router/forwarding/forward.h"
#include "router/registry/method_table.h"
#include "router/registry/orders.h"
#include "router/rights/authz.h"
#include "router/routing/route.h"

static bool knows_lists(const struct mcp_user *user) {
    return user->informed && !user->answers_only;
}

// Notes the clients that know the lists of a server whose section is gone. The clients are told when a section has the
// server's name again.
static void note_absence(struct shard *shard, struct mcp *mcp) {
    size_t count = 0, all = 0;
    struct list *users = &mcp->users.users;
    for (struct list *node = users->next; node != users; node = node->next)
        all += knows_lists(list_entry(node, struct mcp_user, link));
    uint64_t *connections = all ? memory_take(all * sizeof *connections) : NULL;
    for (struct list *node = users->next; connections && node != users; node = node->next) {
        const struct mcp_user *user = list_entry(node, struct mcp_user, link);
        if (knows_lists(user))
            connections[count++] = user->registrant.connection;
    }
    if (connections)
        child_absence_note(&children_of(shard)->absences, &shard->quota, mcp->record->name, connections,
                           count);
    memory_give(connections);
}

void mcp_close(struct shard *shard, struct peer *stub) {
    struct mcp *mcp = mcp_of_stub(stub);
    bool is_removed = stub->leave_order && stub->leave_order->removed && !children_of(shard)->closing;
    if (mcp && is_removed && mcp->era == MCP_LEGACY)
        note_absence(shard, mcp);
    mcp_server_state_give(shard, stub);
}

// --- The session

bool mcp_open(struct shard *shard, struct child *child, const struct lookup *answer, const uint8_t *body) {
    struct mcp *mcp = mcp_server_state(shard, child);
    bool ok = lookup_has(answer, KEY_RESULT);
    struct span value = answer->value[ok ? KEY_RESULT : KEY_ERROR];
    if (!mcp)
        return false;
    struct capabilities *capabilities = capabilities_create(&shard->quota, body + value.at, value.bytes);
    if (!capabilities)
        return false;
    capabilities_drop(&shard->quota, mcp->answer);
    mcp->answer = capabilities;
    mcp->era = ok ? MCP_LEGACY : MCP_MODERN;
    mcp->version = (struct span){0};
    struct json_item version = {0};
    if (ok && answer->type[KEY_RESULT] == JSON_OBJECT)
        version = json_member(body, value, "protocolVersion");
    if (version.type == JSON_STRING)
        mcp->version = (struct span){version.value.at - value.at, version.value.bytes};
    child_show_era(child, mcp->era);
    if (!ok)
        return true;
    struct text log;
    text_init(&log);
    mcp_put_initialized(&log);
    child_send(shard, child, &log);
    return true;
}

// Returns whether the server's version is this version or a newer one. Versions are dates.
static bool knows_version(const struct mcp *mcp, const char *version) {
    assert(mcp->version.bytes > 0 && *version == '"');
    size_t bytes = strlen(version), common = bytes < mcp->version.bytes ? bytes : mcp->version.bytes;
    int order = memcmp(version, mcp->answer->text + mcp->version.at, common);
    return order < 0 || (order == 0 && bytes <= mcp->version.bytes);
}

// Answers a client's initialize with the server's answer, in which the client's version replaces the server's.
static void answer_in_version(struct shard *shard, struct child *child, const struct mcp *mcp,
                              uint64_t hub_id, const char *version) {
    const struct capabilities *answer = mcp->answer;
    uint32_t behind = mcp->version.at + mcp->version.bytes;
    struct text result;
    text_init(&result);
    assert(mcp->version.bytes > 0 && behind <= answer->bytes);
    text_add(&result, answer->text, mcp->version.at);
    text_put(&result, version);
    text_add(&result, answer->text + behind, answer->bytes - behind);
    if (result.failed)
        child_fail(shard, child, CHILD_FAULT_MEMORY, 0);
    else
        child_reply_answer(shard, child, hub_id, "result", (struct piece){result.bytes, result.length});
    text_deinit(&result);
}

// Answers a client's initialize with the server's answer. A client with an older version of the legacy era gets that
// version, as the server itself would answer: many clients refuse any other version.
static void answer_initialize(struct shard *shard, struct child *child, const struct mcp *mcp,
                              uint64_t hub_id, uint32_t version) {
    assert(mcp->answer && mcp->answer->bytes > 0);
    const struct capabilities *answer = mcp->answer;
    const char *own = version > 0 && mcp->version.bytes > 0 ? mcp_legacy_version_text(version) : NULL;
    if (own && mcp->era == MCP_LEGACY && knows_version(mcp, own)) {
        answer_in_version(shard, child, mcp, hub_id, own);
        return;
    }
    child_reply_answer(shard, child, hub_id, mcp->era == MCP_LEGACY ? "result" : "error",
                       (struct piece){answer->text, answer->bytes});
}

static void notify_one(struct shard *shard, uint64_t connection, const struct frame *frame) {
    struct parcel *parcel = parcel_forward(&shard->parcels, frame);
    if (parcel)
        forward_to(shard, connection, parcel);
    else
        drop_one(shard, COUNT_DROP_NO_MEMORY, connection, frame->body.bytes);
}

// Sends a notification to all users of a server. `informed`: only to users that know what the server offers.
static void notify_users(struct shard *shard, struct mcp *mcp, const struct frame *frame, bool informed) {
    assert(frame->body.bytes > 0);
    struct list *users = &mcp->users.users;
    for (struct list *node = users->next, *next; node != users; node = next) {
        struct mcp_user *user = list_entry(node, struct mcp_user, link);
        next = node->next;
        if (informed && !user->informed)
            continue;
        if (user->answers_only) // only answers can reach such a user
            continue;
        notify_one(shard, user->registrant.connection, frame);
    }
}

// Tells one connection that the server's lists have changed; 0: tells all users that know the lists.
static void notify_lists(struct shard *shard, struct child *child, struct mcp *mcp, uint64_t connection) {
    static const char *const lists[] = {"tools", "prompts", "resources"};
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct unit unit;
        struct frame frame;
        struct text body;
        text_init(&body);
        mcp_put_list_changed(&body, lists[index]);
        struct buffer *buffer = child_reply_frame(shard, child, &body, &unit, &frame);
        if (!buffer)
            return;
        if (connection)
            notify_one(shard, connection, &frame);
        else
            notify_users(shard, mcp, &frame, true);
        buffer_drop(buffer);
    }
}

// Tells the server's users that its lists have changed, if another program has taken the server's place. A user that
// waits for a first answer knows no lists. Tells also clients of an earlier section with the server's name.
static void notify_replaced(struct shard *shard, struct child *child, struct mcp *mcp) {
    if (child->of)
        return;
    if (child->replaced)
        notify_lists(shard, child, mcp, 0);
    child->replaced = false;
    struct child_absence **absences = &children_of(shard)->absences;
    for (uint64_t connection;
         (connection = child_absence_take(absences, &shard->quota, child->record->name));)
        notify_lists(shard, child, mcp, connection);
}

void mcp_opened(struct shard *shard, struct child *child) {
    struct mcp *mcp = mcp_of_stub(child->stub);
    assert(mcp && mcp->answer);
    struct parcel_list waiting;
    parcel_list_init(&waiting);
    for (struct parcel *parcel; (parcel = parcel_list_take(&mcp->waiting));)
        parcel_list_append(&waiting, parcel);
    if (mcp->era == MCP_LEGACY)
        mcp_client_state_send(shard, child, mcp);
    else
        mcp_modern_retire(shard, child);
    notify_replaced(shard, child, mcp);
    for (struct parcel *parcel; (parcel = parcel_list_take(&waiting));)
        send_queue(shard, child->stub, parcel); // which diverts the parcel again
}

// --- Messages of clients

// Keeps a client's initialize until it is known whether the server has sessions. Detaches the parcel, so that the
// parcel keeps none of its arrival's memory.
static void wait_for_opening(struct shard *shard, struct child *child, struct mcp *mcp,
                             struct parcel *parcel) {
    assert(parcel->hub_id && !parcel->link);
    uint8_t note = parcel->note;
    uint64_t source = parcel->source;
    uint32_t version = mcp_client_state_version(shard, parcel);
    parcel = send_detach(shard, parcel);
    parcel->note = note;
    parcel->source = source;
    parcel->mail.detail = (uint8_t)version; // the body can't be read any more
    parcel_list_append(&mcp->waiting, parcel);
    child->is_wanted = true;
    child_wanted(shard, child->stub);
}

// Answers a client's initialize, or keeps the request until the session is open. Takes the parcel, and returns true.
static bool divert_opening(struct shard *shard, struct child *child, struct mcp *mcp, struct parcel *parcel) {
    bool is_open = mcp->answer && child->state == CHILD_RUNNING;
    assert(child_mux_method(parcel) == MCP_INITIALIZE);
    if (parcel->hub_id && !is_open) {
        wait_for_opening(shard, child, mcp, parcel);
        return true;
    }
    uint32_t version = parcel->buffer ? mcp_client_state_version(shard, parcel) : parcel->mail.detail;
    if (parcel->hub_id)
        answer_initialize(shard, child, mcp, parcel->hub_id, version);
    send_release(shard, parcel);
    return true;
}

// Diverts a message of the modern era, which waits for no session. Returns false if the first process itself has that
// era, because it has refused a session.
static bool divert_modern(struct shard *shard, struct child *child, const struct mcp *mcp,
                          struct parcel *parcel) {
    assert(child_mux_is_modern(parcel) && !child->of);
    if (mcp->answer && mcp->era == MCP_MODERN && child->state != CHILD_DOWN)
        return false;
    mcp_modern_divert(shard, child, parcel);
    return true;
}

// Notes a user's request to the server as in progress. Returns false without memory: the request must not go to the
// server then. A question that the server asks because of the request would reach another client, whose request seems
// the only one in progress.
static bool begin_call(struct shard *shard, struct child *child, struct mcp_user *user,
                       const struct parcel *parcel) {
    bool is_request = parcel->source && parcel->hub_id;
    assert(parcel->note);
    return !is_request || (user && mcp_request_ids_begin(shard, child, user, parcel));
}

// Notes a client's message to the server. Returns whether the parcel was taken.
static bool divert_call(struct shard *shard, struct child *child, struct mcp *mcp, struct parcel *parcel) {
    struct mcp_user *user = parcel->source ? mcp_user_take(&mcp->users, parcel->source) : NULL;
    enum mcp_method method = child_mux_method(parcel);
    if (user)
        user->answers_only = child_mux_answers_only(parcel);
    struct mcp_user *receives = user && !user->answers_only ? user : NULL;
    if (user && method == MCP_INITIALIZED && child->state == CHILD_RUNNING)
        user->informed = true;
    bool is_initialized = method == MCP_INITIALIZED;
    if (!is_initialized && !begin_call(shard, child, user, parcel)) {
        child_reply_refuse_parcel(shard, child, parcel, ERROR_OVERLOADED, 0);
        return true;
    }
    if (is_initialized || mcp_client_state_note(shard, child, mcp, receives, parcel)) {
        send_release(shard, parcel);
        return true;
    }
    if (parcel->hub_id && receives && method == MCP_SUBSCRIBE)
        mcp_client_state_subscribe(shard, &mcp->users, parcel);
    return false;
}

bool mcp_divert(struct shard *shard, struct peer *stub, struct parcel *parcel) {
    assert(connection_shard(stub->connection_id) == shard->index);
    struct child *child = child_of_stub(stub);
    if (!child || !parcel->note)
        return false;
    struct mcp *mcp = mcp_server_state(shard, child);
    if (mcp && child_mux_is_modern(parcel) && divert_modern(shard, child, mcp, parcel))
        return true;
    if (child->state == CHILD_DOWN) { // the name stays registered for the modern era
        child_reply_refuse_parcel(shard, child, parcel, ERROR_AGENT_NOT_FOUND, 0);
        return true;
    }
    if (mcp && mcp_request_ids_is_full(shard, &mcp->users, parcel)) {
        child_reply_refuse_parcel(shard, child, parcel, ERROR_OVERLOADED, mcp_request_ids_listens_max(shard));
        return true;
    }
    if (mcp && child_mux_method(parcel) == MCP_INITIALIZE)
        return divert_opening(shard, child, mcp, parcel);
    return mcp && divert_call(shard, child, mcp, parcel);
}

// --- Messages of the server

// Forwards a log message to the user that asks for log messages, if there is only one.
static void set_logging(struct shard *shard, const struct mcp *mcp, const struct message *message) {
    const struct mcp_user *user = mcp_only_log_reader(&mcp->users);
    assert(mcp->era == MCP_MODERN);
    uint32_t bytes = message->frame->body.bytes;
    bool receives = user && !user->answers_only;
    struct parcel *parcel = receives ? parcel_forward(&shard->parcels, message->frame) : NULL;
    if (parcel)
        forward_to(shard, user->registrant.connection, parcel);
    else
        drop_one(shard, receives ? COUNT_DROP_NO_MEMORY : COUNT_DROP_NO_ROUTE, message->peer->connection_id,
                 bytes);
}

// Takes a notification of the server. Returns false if the notification must be routed as any peer's.
static bool take_notification(struct shard *shard, struct child *child, struct mcp *mcp,
                              const struct message *message) {
    enum mcp_method method = mcp_method(message->method, message->method_bytes);
    uint64_t progress = progress_token_request(message);
    if (lookup_has(&message->lookup, KEY_TARGET_AGENT))
        return false;
    if (child->modern && progress && mcp_request_user(&mcp->users, progress)) {
        mcp_request_ids_send(shard, child, message->frame);
        return true;
    }
    if (!child->modern && progress && mcp_modern_requested(child, progress)) {
        stats_count(&shard->stats, COUNT_NOTIFICATIONS_RECEIVED);
        drop_one(shard, COUNT_DROP_PROGRESS_UNKNOWN, child->stub->connection_id, message->frame->body.bytes);
        return true;
    }
    if (mcp->era == MCP_MODERN && mcp_request_ids_notify(shard, child, NULL, message)) {
        child->era_is_known = true; // the server knows subscriptions, so it has the modern era
        return true;
    }
    // Routing handles progress under a token of the hub, and methods that only the hub may send.
    if (progress || method_table_is_of_hub(message->method, message->method_bytes))
        return false;
    bool is_log = mcp->era == MCP_MODERN && method == MCP_LOG;
    if (!is_log && (mcp->era == MCP_MODERN || method == MCP_PROGRESS || method == MCP_CANCELLED))
        return false;
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_RECEIVED);
    if (is_log)
        set_logging(shard, mcp, message);
    else // users get notifications of their session whatever their rights are
        notify_users(shard, mcp, message->frame, false);
    return true;
}

static void refuse_request(struct shard *shard, const struct message *message, const char *reason) {
    struct text data;
    text_init(&data);
    reply_data_string(&data, "method", message->method, message->method_bytes);
    reply_data_text(&data, "reason", reason);
    refuse(shard, message, ERROR_METHOD_NOT_FOUND, &data);
}

// Returns why the server may not ask any client this; NULL: it may. One client's roots would become all clients'
// allowed folders.
static const char *refusal_of(const struct child *child, enum mcp_method method) {
    return method == MCP_ROOTS              ? "clients share the server, and each has roots of its own"
           : !child->settings->asks_clients ? "its section doesn't say ask-clients = yes"
                                            : NULL;
}

// Returns the only client that a server's request can be about. Returns NULL if there is none, and *reason tells why.
static struct mcp_user *requested_user(const struct shard *shard, const struct child *child, struct mcp *mcp,
                                       const char **reason) {
    struct mcp_users *users = mcp_server_state_users(child, mcp);
    struct mcp_user *user = mcp_only_requester(users);
    assert(reason && child->settings->asks_clients);
    bool is_idle = list_empty(&users->by_requests);
    *reason = mcp_abandoned_any(users, shard_now_ms(shard))
                  ? "a request that its client gave up may be in progress"
              : is_idle            ? "no client has a request in progress"
              : !user              ? "several clients have requests in progress"
              : user->answers_only ? "the client that has a request in progress can't be asked"
                                   : NULL;
    return *reason ? NULL : user;
}

static void send_to_one(struct shard *shard, const struct child *child, struct mcp *mcp,
                        const struct message *message) {
    const char *reason;
    struct mcp_user *user = requested_user(shard, child, mcp, &reason);
    if (!authz_may_list(shard, message))
        return;
    if (user)
        mcp_client_state_ask(shard, message, user);
    else
        refuse_request(shard, message, reason);
}

// Takes a request of the server: the hub answers the request, or forwards it to the only user that it can be about.
// Returns false for a request to the hub, or with a target.
static bool take_request(struct shard *shard, struct child *child, struct mcp *mcp,
                         const struct message *message) {
    const char *method = message->method;
    size_t bytes = message->method_bytes;
    if (lookup_has(&message->lookup, KEY_TARGET_AGENT) || method_table_find(method, bytes) != METHODS_COUNT ||
        method_table_is_of_hub(method, bytes))
        return false;
    stats_count(&shard->stats, COUNT_REQUESTS_RECEIVED);
    if (message->exchange)
        exchange_expect(message->exchange);
    enum mcp_method kind = mcp_method(method, bytes);
    const char *reason = refusal_of(child, kind);
    if (kind == MCP_PING)
        reply_result(shard, child->stub, message_reply_to(message), "{}", 2);
    else if (reason)
        refuse_request(shard, message, reason);
    else
        send_to_one(shard, child, mcp, message);
    return true;
}

static bool take_call(struct shard *shard, struct child *child, struct mcp *mcp, struct message *message) {
    validate_read_method(message);
    if (message->method_long)
        return false;
    if (message_is_request(message))
        return take_request(shard, child, mcp, message);
    mcp_request_ids_note_change(shard, child, message);
    return take_notification(shard, child, mcp, message);
}

static bool take_response(struct shard *shard, struct child *child, struct mcp *mcp,
                          const struct message *message) {
    uint64_t hub_id = mcp_request_ids_answered(message);
    assert(message->peer == child->stub);
    if (message->lookup.verdict == LOOKUP_GOOD && child_answers_own(child, &message->lookup, message->body))
        return true; // the response to a request of the hub's own
    // The other process alone may answer
    if (hub_id && !child->modern && mcp_modern_requested(child, hub_id)) {
        stats_count(&shard->stats, COUNT_RESPONSES_RECEIVED);
        drop_one(shard, COUNT_DROP_RESPONSE_FOREIGN, child->stub->connection_id, message->frame->body.bytes);
        return true;
    }
    if (hub_id && mcp_abandoned_end(&mcp->users, hub_id))
        return false; // nobody waits for the response
    struct mcp_user *user = hub_id ? mcp_request_user(&mcp->users, hub_id) : NULL;
    if (!user)
        return false;
    user->informed = true;
    if (child->modern)
        mcp_modern_answer(shard, child, message, hub_id);
    else
        mcp_request_ids_answer(shard, child, message, hub_id);
    return true;
}

bool mcp_take(struct shard *shard, struct child *child, const struct frame *frame,
              struct exchange *exchange) {
    struct mcp *mcp = mcp_of_stub(child->stub);
    struct message message;
    if (!mcp)
        return false;
    message_begin(&message, child->stub, exchange);
    validate_look_up(shard, &message, frame);
    enum body_kind kind = message.lookup.kind;
    if (validate_is_response(shard, &message, true)) // take_response checks that the response is owed
        return take_response(shard, child, mcp, &message);
    return message.lookup.verdict == LOOKUP_GOOD && (kind == BODY_REQUEST || kind == BODY_NOTIFICATION) &&
           take_call(shard, child, mcp, &message);
}

// Drops a request that waits for the session, and that no process has. Returns false if there is no such request.
static bool forget_waiting(struct shard *shard, struct mcp *mcp, uint64_t hub_id) {
    struct parcel *parcel = mcp->waiting.first;
    assert(hub_id);
    while (parcel && parcel->hub_id != hub_id)
        parcel = parcel->next;
    if (!parcel)
        return false;
    parcel_list_remove(&mcp->waiting, parcel);
    send_release(shard, parcel);
    return true;
}

size_t mcp_waiting(const struct peer *stub, uint64_t *hub_ids, size_t room) {
    const struct child *child = child_of_stub(stub);
    bool is_mcp = child && child->newest && child->newest->protocol == CHILD_MCP;
    bool goes_on = child && mcp_of_stub(stub) && (is_mcp || child->removed);
    size_t count = 0;
    assert(hub_ids || room == 0);
    for (const struct parcel *parcel = goes_on ? mcp_of_stub(stub)->waiting.first : NULL; parcel;
         parcel = parcel->next) {
        if (count < room)
            hub_ids[count] = parcel->hub_id;
        count++;
    }
    return count;
}

// Ends a cancelled request. If the process has the request, the request is abandoned: the process may still ask
// something because of it.
static void forget_request(struct shard *shard, struct child *child, uint64_t hub_id) {
    assert(hub_id && mcp_of_stub(child->stub));
    bool is_found = child_is_up(child) && !outbox_has(&child->stub->connection.outbox, hub_id);
    if (is_found)
        mcp_request_ids_abandon(shard, child, hub_id);
    else
        mcp_request_ids_end(child, hub_id);
}

struct peer *mcp_forget(struct shard *shard, struct peer *stub, uint64_t hub_id, bool is_long_lived) {
    struct child *child = child_of_stub(stub), *other = child ? mcp_modern_requested(child, hub_id) : NULL;
    struct mcp *mcp = other ? mcp_of_stub(other->stub) : mcp_of_stub(stub);
    if (mcp && forget_waiting(shard, mcp, hub_id))
        return NULL;
    if (mcp && child && (!other || !is_long_lived))
        forget_request(shard, other ? other : child, hub_id);
    if (other)
        mcp_modern_retire(shard, child);
    return other ? other->stub : stub;
}

// --- Users

struct leaving {
    struct shard *shard;
    struct child *child;
};

// Gives up a request whose user has left. The request is abandoned if a process may have it, else the request ends.
static void leave_request(void *context, uint64_t hub_id) {
    const struct leaving *leaving = context;
    if (child_is_up(leaving->child))
        mcp_request_ids_abandon(leaving->shard, leaving->child, hub_id);
    else
        mcp_request_ids_end(leaving->child, hub_id);
}

void mcp_user_left(struct shard *shard, uint64_t connection) {
    assert(shard->index == 0);
    if (children_of(shard))
        child_absence_forget(&children_of(shard)->absences, &shard->quota, connection);
    for (struct child *child = children_of(shard) ? children_of(shard)->first : NULL; child;
         child = child->next) {
        struct mcp *mcp = mcp_of_stub(child->stub);
        struct mcp_user *user = mcp ? mcp_user_find(&mcp->users, connection) : NULL;
        if (!user)
            continue;
        completion_end_all_at(shard, &user->registrant);
        if (child_is_stand_in(child)) {
            per_client_leave(shard, &mcp->users, user);
            continue;
        }
        struct leaving leaving = {shard, child};
        mcp_visit_requests(user, leave_request, &leaving);
        mcp_client_state_leave(shard, child, mcp, user);
        if (child->modern)
            mcp_modern_retire(shard, child->of);
    }
}

static uint32_t count_users(const struct mcp_users *users) {
    uint32_t count = 0;
    for (const struct list *node = users->users.next; node != &users->users; node = node->next)
        count++;
    return count;
}

void mcp_survey(struct shard *shard) {
    for (const struct child *child = children_of(shard) ? children_of(shard)->first : NULL; child;
         child = child->next) {
        const struct mcp *mcp = mcp_of_stub(child->stub);
        if (mcp && child->record && !child_is_stand_in(child))
            atomic_store_explicit(&child->record->clients, count_users(&mcp->users), memory_order_relaxed);
    }
}
