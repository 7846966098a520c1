#include "router/features/mcp/per_client.h"

#include <assert.h>
#include <signal.h>

#include "core/mcp/mcp_message.h"
#include "core/mcp/mcp_users.h"
#include "io/keeper.h"
#include "router/engine/message/message.h"
#include "router/engine/message/progress_token.h"
#include "router/engine/request/refuse.h"
#include "router/engine/request/validate.h"
#include "router/engine/send/exchange.h"
#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/post.h"
#include "router/features/children/child.h"
#include "router/features/children/child_mux.h"
#include "router/features/children/children.h"
#include "router/features/mcp/child_reply.h"
#include "router/features/mcp/mcp_client_state.h"
#include "router/features/mcp/mcp_request_ids.h"
#include "router/forwarding/forward.h"
#include "router/registry/method_table.h"
#include "router/rights/authz.h"

// --- Sessions
//
// The session that a user has opened with its own instance of an MCP server (instances = each). When the instance's
// process ends and another one is started, the hub opens the session anew, with the user's own params, before queued
// messages. The user doesn't notice.

static void per_client_session_forget(struct shard *shard, struct child *child) {
    struct mcp *mcp = mcp_of_stub(child->stub);
    assert(child->of && shard->index == 0);
    child->reopens = false;
    if (!mcp)
        return;
    capabilities_drop(&shard->quota, mcp->opening);
    mcp->opening = NULL;
    mcp->opening_id = 0;
    mcp->is_open = false;
}

// Keeps the params of a user's initialize in place of earlier ones. Params that are too long aren't kept, nor params
// for which there is no memory: then the session isn't opened anew.
static void note_opening(struct shard *shard, struct child *child, const struct parcel *parcel) {
    struct lookup lookup;
    per_client_session_forget(shard, child);
    struct mcp *mcp = parcel->buffer ? mcp_server_state(shard, child) : NULL;
    if (!mcp)
        return;
    const uint8_t *body = parcel->buffer->bytes + parcel->body.at;
    lookup_body(&lookup, body, parcel->body.bytes, shard_limits(shard)->id_bytes_max);
    struct span params = lookup.value[KEY_PARAMS];
    assert(parcel->hub_id);
    if (!lookup_has(&lookup, KEY_PARAMS) || lookup.type[KEY_PARAMS] != JSON_OBJECT ||
        params.bytes > CAPABILITIES_BYTES_MAX)
        return;
    mcp->opening = capabilities_create(&shard->quota, body + params.at, params.bytes);
    mcp->opening_id = mcp->opening ? parcel->hub_id : 0;
}

// Notes what a user's message to its instance sets for later processes.
static void per_client_session_note(struct shard *shard, struct child *child, struct mcp_users *users,
                                    struct mcp_user *user, const struct parcel *parcel) {
    struct mcp *mcp = mcp_of_stub(child->stub);
    assert(child->of && child->settings->protocol == CHILD_MCP);
    // The hub is opening the session anew, and its initialize is answered first: the user's message then finds the
    // session open.
    bool is_opening = child->reopens && child->state == CHILD_GREETING;
    bool is_modern = child_mux_is_modern(parcel);
    if (!parcel->hub_id || (is_opening && (is_modern || child_mux_method(parcel) == MCP_INITIALIZE)))
        return;
    if (is_modern) { // without sessions: the next process speaks that era
        if (!child_is_up(child) && outbox_empty(&child->stub->connection.outbox))
            per_client_session_forget(shard, child);
        return;
    }
    if (child_mux_method(parcel) == MCP_INITIALIZE) {
        note_opening(shard, child, parcel);
        if (!child_is_up(child)) { // what the user has set at an earlier process counts no more
            mcp_unsubscribe_all(users, user);
            if (mcp)
                mcp->level[0] = 0;
        }
        return;
    }
    mcp = mcp_server_state(shard, child);
    if (mcp)
        mcp_client_state_note_own(shard, mcp, users, user, parcel);
}

// Notes an instance's answer, if that is the answer to the user's initialize.
static void per_client_session_answered(struct shard *shard, struct child *child, const struct lookup *lookup,
                                        uint64_t hub_id) {
    struct mcp *mcp = mcp_of_stub(child->stub);
    assert(hub_id && child->of);
    if (!mcp || !mcp->opening || hub_id != mcp->opening_id)
        return;
    mcp->opening_id = 0;
    mcp->is_open = lookup->verdict == LOOKUP_GOOD && lookup_has(lookup, KEY_RESULT);
    if (!mcp->is_open)
        per_client_session_forget(shard, child);
}

// Handles the end of an instance's process. An initialize without an answer has failed for the user, unless the request
// is still queued for the next process.
static void per_client_session_restart(struct shard *shard, struct child *child) {
    const struct mcp *mcp = mcp_of_stub(child->stub);
    assert(child->of);
    if (mcp && mcp->opening && !mcp->is_open && !outbox_has(&child->stub->connection.outbox, mcp->opening_id))
        per_client_session_forget(shard, child);
    child->reopens = mcp && mcp->is_open;
}

// Writes an initialize with the params of the user's own.
void per_client_put_reopening(const struct peer *stub, struct text *body, uint64_t id) {
    const struct mcp *mcp = mcp_of_stub(stub);
    assert(mcp && mcp->is_open && mcp->opening);
    text_put(body, "{\"jsonrpc\":\"2.0\",\"id\":");
    text_number(body, (int64_t)id);
    text_put(body, ",\"method\":\"initialize\",\"params\":");
    text_add(body, mcp->opening->text, mcp->opening->bytes);
    text_put(body, "}");
}

// Takes an instance's answer to the hub's initialize: the session is open, or the child has failed.
static void per_client_session_reopen(struct shard *shard, struct child *child, const struct mcp_user *user,
                                      const struct lookup *answer) {
    assert(child->of && child->state == CHILD_GREETING);
    if (!user || !lookup_has(answer, KEY_RESULT)) {
        child_fail(shard, child, CHILD_FAULT_REFUSED, 0);
        (void)child_command(shard, child, KEEPER_KILL, SIGKILL);
        return;
    }
    struct text params;
    text_init(&params);
    mcp_put_initialized(&params);
    child_send(shard, child, &params);
    if (child->stub->state != PEER_OPEN) // the instance couldn't be told that the session is open
        return;
    child_ready(shard, child, NULL, NULL);
    if (child->state == CHILD_RUNNING)
        mcp_client_state_send_own(shard, child, mcp_of_stub(child->stub), user);
}

// Returns the instance of a user; or NULL. The user has only the name of the instance's connection, because the
// instance may have gone.
static struct child *child_of(const struct shard *shard, const struct mcp_user *user) {
    const struct peer *stub = user->served ? peer_find(shard, user->served) : NULL;
    return stub ? child_of_stub(stub) : NULL;
}

static struct mcp_user *user_of(const struct child *child) {
    assert(child->of && child->user);
    struct mcp_users *users = mcp_users_of(child);
    struct mcp_user *user = users ? mcp_user_find(users, child->user) : NULL;
    return user && user->served == child->stub->connection_id ? user : NULL;
}

// --- Messages of users

// Ends the connection of a user whose program has ended after the user's `exit`, once the connection's queue is sent.
// The hub's own `exit` does the same. A client that joins its standard streams to the program waits for that.
static void part(struct shard *shard, const struct mcp_user *user) {
    uint32_t to = connection_shard(user->registrant.connection);
    assert(shard->index == 0 && !user->answers_only);
    struct peer *peer = to == shard->index ? peer_find(shard, user->registrant.connection) : NULL;
    if (to == shard->index) {
        if (peer)
            peer_linger(shard, peer);
        return;
    }
    struct text body;
    text_init(&body);
    text_put(&body, "{}"); // the body isn't sent
    struct parcel *parcel = body.failed ? NULL : parcel_from_text(&shard->parcels, body.bytes, body.length);
    if (!parcel) {
        text_deinit(&body);
        drop_one(shard, COUNT_DROP_NO_MEMORY, user->registrant.connection, 0);
        return;
    }
    parcel->mail.kind = MAIL_CLOSE_PEER;
    parcel->mail.connection = user->registrant.connection;
    mailbox_post(hub_mailbox(shard->hub, shard->index, to), &parcel->mail);
}

static struct child *take_instance(struct shard *shard, struct child *stand_in, struct mcp_user *user) {
    struct child *child = child_of(shard, user);
    if (child)
        return child;
    child = children_add_instance(shard, stand_in, user->registrant.connection);
    user->served = child ? child->stub->connection_id : 0;
    return child;
}

// Returns whether a notification comes too late, after the instance has ended. Only a request starts the instance
// again: a notification is for the program that had the earlier messages.
static bool is_late(const struct child *child, const struct parcel *parcel) {
    bool is_notified = child->settings->protocol == CHILD_HERMES; // commands come as notifications
    return !parcel->hub_id && !is_notified && !child_is_up(child) && child->serial > 0 &&
           outbox_empty(&child->stub->connection.outbox);
}

// Returns whether a user of a session asks for the modern era. A process speaks one era.
static bool is_of_other_era(const struct mcp_user *user, const struct parcel *parcel) {
    return user->has_session && parcel->hub_id && child_mux_method(parcel) == MCP_DISCOVER;
}

static enum error fault_of(const struct shard *shard, const struct child *child, const struct mcp_user *user,
                           const struct parcel *parcel) {
    if (is_of_other_era(user, parcel))
        return ERROR_METHOD_NOT_FOUND;
    if (child->state == CHILD_DOWN || child->state == CHILD_STOPPED)
        return ERROR_AGENT_NOT_FOUND;
    if (child->removed)
        return ERROR_AGENT_NOT_FOUND;
    if (child->after == CHILD_AFTER_FREE || is_late(child, parcel))
        return ERROR_TARGET_DISCONNECTED;
    return queue_limit_has_room(shard, child->stub) ? ERROR_NONE : ERROR_OVERLOADED;
}

// Sends a copy of an event, or of a notification to the name, to all instances that run. Takes the parcel.
static void notify_all(struct shard *shard, const struct child *stand_in, struct parcel *parcel) {
    bool is_notified = false;
    assert(!parcel->hub_id && !parcel->note);
    for (struct child *child = children_of(shard)->first; child; child = child->next) {
        if (child->of != stand_in || child->state != CHILD_RUNNING)
            continue;
        bool room = queue_limit_has_room(shard, child->stub);
        struct parcel *copy = room ? parcel_copy_of(&shard->parcels, parcel) : NULL;
        is_notified = true;
        if (copy)
            send_queue(shard, child->stub, copy);
        else
            drop_several(shard, room ? COUNT_DROP_NO_MEMORY : COUNT_DROP_OVERLOADED,
                         child->stub->connection_id, parcel->bytes, parcel->frames);
    }
    if (!is_notified)
        drop_several(shard, COUNT_DROP_TARGET_GONE, stand_in->stub->connection_id, parcel->bytes,
                     parcel->frames);
    send_release(shard, parcel);
}

void per_client_divert(struct shard *shard, struct peer *stub, struct parcel *parcel) {
    struct child *stand_in = child_of_stub(stub);
    assert(child_is_stand_in(stand_in) && shard->index == 0);
    if (!parcel->note && !parcel->hub_id) {
        notify_all(shard, stand_in, parcel);
        return;
    }
    struct mcp *mcp = parcel->note && parcel->source ? mcp_server_state(shard, stand_in) : NULL;
    struct mcp_user *user = mcp ? mcp_user_take(&mcp->users, parcel->source) : NULL;
    struct child *child = user ? take_instance(shard, stand_in, user) : NULL;
    if (user)
        user->answers_only = child_mux_answers_only(parcel);
    bool is_full = child && mcp_request_ids_is_full(shard, &mcp->users, parcel);
    enum error fault = child && !is_full ? fault_of(shard, child, user, parcel) : ERROR_OVERLOADED;
    if (!fault && parcel->hub_id && !mcp_request_ids_begin(shard, child, user, parcel))
        fault = ERROR_OVERLOADED;
    if (!child && stand_in->removed)
        fault = ERROR_AGENT_NOT_FOUND;
    uint32_t limit = is_full ? mcp_request_ids_listens_max(shard)
                     : child ? 0
                             : stand_in->settings->instances_max;
    bool is_exit = user && !user->answers_only && child_mux_is_exit(parcel);
    if (fault)
        child_reply_refuse_parcel(shard, stand_in, parcel, fault, limit);
    if (fault && is_exit) // there is no program that could exit
        part(shard, user);
    if (fault)
        return;
    user->exits |= is_exit;
    bool is_mcp = child->settings->protocol == CHILD_MCP;
    if (is_mcp)
        per_client_session_note(shard, child, &mcp->users, user, parcel);
    user->has_session |= is_mcp && parcel->hub_id && !child_mux_is_modern(parcel);
    send_queue(shard, child->stub, parcel);
}

struct peer *per_client_forget(struct shard *shard, struct peer *stub, uint64_t hub_id, bool is_long_lived) {
    const struct mcp *mcp = mcp_of_stub(stub);
    assert(hub_id && shard->index == connection_shard(stub->connection_id));
    const struct mcp_user *user = mcp ? mcp_request_user(&mcp->users, hub_id) : NULL;
    struct child *child = user ? child_of(shard, user) : NULL;
    if (!child)
        return NULL;
    if (!is_long_lived)
        mcp_request_ids_end(child, hub_id);
    return child->stub;
}

// --- Messages of an instance

static void notify_user(struct shard *shard, const struct message *message, const struct mcp_user *user) {
    assert(!message_is_request(message));
    if (user->answers_only) {
        drop_one(shard, COUNT_DROP_NO_ROUTE, user->registrant.connection, message->frame->body.bytes);
        return;
    }
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, user->registrant.connection, message->frame->body.bytes);
        return;
    }
    parcel->lane = (uint8_t)message_lane(message);
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_FORWARDED);
    forward_to(shard, user->registrant.connection, parcel);
}

// Returns whether an instance's message is for its user. A message to the hub, or with a target, is routed as any
// peer's.
static bool is_for_user(const struct message *message) {
    return !lookup_has(&message->lookup, KEY_TARGET_AGENT) &&
           method_table_find(message->method, message->method_bytes) == METHODS_COUNT &&
           !method_table_is_of_hub(message->method, message->method_bytes);
}

static bool take_call(struct shard *shard, struct child *child, struct mcp_user *user,
                      struct message *message) {
    validate_read_method(message);
    bool is_request = message_is_request(message);
    bool is_mcp = child->settings->protocol == CHILD_MCP;
    if (message->method_long)
        return false;
    if (is_mcp && !is_request)
        mcp_request_ids_note_change(shard, child, message);
    if (is_mcp && !is_request && !lookup_has(&message->lookup, KEY_TARGET_AGENT) &&
        mcp_request_ids_notify(shard, child, user, message))
        return true;
    if (!is_for_user(message))
        return false;
    uint64_t progress = progress_token_request(message);
    if (progress && mcp_request_user(mcp_users_of(child), progress) == user) {
        mcp_request_ids_send(shard, child, message->frame);
        return true;
    }
    if (progress) { // the request has ended: nobody else knows the hub's token
        stats_count(&shard->stats, COUNT_NOTIFICATIONS_RECEIVED);
        drop_one(shard, COUNT_DROP_PROGRESS_UNKNOWN, child->stub->connection_id, message->frame->body.bytes);
        return true;
    }
    stats_count(&shard->stats, is_request ? COUNT_REQUESTS_RECEIVED : COUNT_NOTIFICATIONS_RECEIVED);
    if (is_request && message->exchange)
        exchange_expect(message->exchange);
    if (refuse_header(shard, message))
        return true;
    if (!is_request) // the user runs the instance, and needs no right to hear it
        notify_user(shard, message, user);
    else if (is_mcp && mcp_method(message->method, message->method_bytes) == MCP_PING)
        reply_result(shard, child->stub, message_reply_to(message), "{}", 2);
    else if (!(is_mcp ? authz_may_list(shard, message) : authz_may_use_source(shard, message)))
        return true; // the refusal has been sent
    else if (user->answers_only)
        refuse_method(shard, message);
    else
        mcp_client_state_ask(shard, message, user);
    return true;
}

// Returns whether an instance answers server/discover as a program without the modern era does.
static bool refuses_era(struct child *child, const struct mcp_user *user, const struct message *message,
                        uint64_t hub_id) {
    const struct lookup *lookup = &message->lookup;
    bool ok = lookup->verdict == LOOKUP_GOOD && lookup->kind == BODY_RESPONSE;
    bool refuses = ok && lookup_has(lookup, KEY_ERROR) && !lookup_has(lookup, KEY_RESULT);
    child->era_is_known |=
        ok && !user->has_session && (!refuses || mcp_error_is_modern(message->body, lookup));
    return refuses && !child->era_is_known &&
           mcp_request_kind_of(mcp_users_of(child), hub_id) == MCP_REQUEST_DISCOVER;
}

// Takes a response that the instance owes, even a malformed one. Returns false if the instance doesn't owe the
// response.
static bool take_response(struct shard *shard, struct child *child, const struct mcp_user *user,
                          const struct message *message) {
    uint64_t hub_id = mcp_request_ids_answered(message);
    struct mcp_users *users = mcp_users_of(child);
    if (!hub_id || mcp_request_user(users, hub_id) != user)
        return false;
    per_client_session_answered(shard, child, &message->lookup, hub_id);
    if (!refuses_era(child, user, message, hub_id)) {
        mcp_request_ids_answer(shard, child, message, hub_id);
        return true;
    }
    mcp_request_ids_refuse(shard, child, hub_id, ERROR_METHOD_NOT_FOUND, false);
    return true;
}

bool per_client_take(struct shard *shard, struct child *child, const struct frame *frame,
                     struct exchange *exchange) {
    struct message message;
    struct mcp_user *user = user_of(child);
    if (!user)
        return false;
    message_begin(&message, child->stub, exchange);
    validate_look_up(shard, &message, frame);
    enum body_kind kind = message.lookup.kind;
    if (validate_is_response(shard, &message, true)) // take_response checks that the response is owed
        return take_response(shard, child, user, &message);
    return message.lookup.verdict == LOOKUP_GOOD && (kind == BODY_REQUEST || kind == BODY_NOTIFICATION) &&
           take_call(shard, child, user, &message);
}

// --- The end of an instance's process

struct ending {
    struct shard *shard;
    struct child *child;
    bool is_unknown; // the program's era isn't known
    bool spares;     // requests that haven't been sent stay queued
};

static void end_pending(void *context, uint64_t hub_id) {
    const struct ending *ending = context;
    struct child *child = ending->child;
    if (ending->spares && outbox_has(&child->stub->connection.outbox, hub_id))
        return;
    bool is_probe =
        ending->is_unknown && mcp_request_kind_of(mcp_users_of(child), hub_id) == MCP_REQUEST_DISCOVER;
    child->era_probed |= is_probe; // a program that knows sessions alone may end so
    mcp_request_ids_refuse(ending->shard, child, hub_id,
                           is_probe ? ERROR_METHOD_NOT_FOUND : ERROR_TARGET_DISCONNECTED,
                           child->removed && !is_probe);
}

void per_client_restart(struct shard *shard, struct peer *stub) {
    struct child *child = child_of_stub(stub);
    assert(child && child->of && stub->connection.paused);
    bool is_mine = child->state == CHILD_ENDING && child->after == CHILD_AFTER_END;
    bool spares = child->keeps_queue && child->after < CHILD_AFTER_STOP;
    struct mcp_user *user = user_of(child);
    struct ending ending = {shard, child, is_mine && !child->era_is_known && user && !user->has_session,
                            spares};
    if (user)
        mcp_visit_requests(user, end_pending, &ending);
    if (!spares || !user)
        mcp_request_ids_drop_queue(shard, child);
    per_client_session_restart(shard, child);
    if (!user || user_of(child) != user) // the user may have asked again, and have another instance
        return;
    user->has_session &= !outbox_empty(&stub->connection.outbox);
    if (user->exits)
        part(shard, user);
    user->exits = false;
}

void per_client_reopen(struct shard *shard, struct child *child, const struct lookup *answer) {
    assert(child->reopens);
    per_client_session_reopen(shard, child, user_of(child), answer);
}

void per_client_leave(struct shard *shard, struct mcp_users *users, struct mcp_user *user) {
    struct child *child = child_of(shard, user);
    if (child) {
        child->pending_count = 0;
        child_stop(shard, child, CHILD_AFTER_FREE, "closing");
    }
    mcp_user_leave(users, user, NULL, NULL);
}
