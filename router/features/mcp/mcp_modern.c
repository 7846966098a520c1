#include "router/features/mcp/mcp_modern.h"

#include <assert.h>

#include "router/engine/send/send.h"
#include "router/features/children/child_mux.h"
#include "router/features/children/children.h"
#include "router/features/mcp/child_reply.h"
#include "router/features/mcp/mcp_client_state.h"
#include "router/features/mcp/mcp_request_ids.h"

// --- Requests to the modern process

// Returns the error for a program without the modern era. If the first process stays down, too, there is no agent.
static enum error missing_capability(const struct child *first) {
    return first->state == CHILD_DOWN ? ERROR_AGENT_NOT_FOUND : ERROR_METHOD_NOT_FOUND;
}

struct ending {
    struct shard *shard;
    struct child *child;
    enum error error;
    bool spares; // requests that haven't been sent stay queued
};

static void end_pending(void *context, uint64_t hub_id) {
    const struct ending *ending = context;
    struct child *child = ending->child;
    if (!ending->spares || !outbox_has(&child->stub->connection.outbox, hub_id))
        mcp_request_ids_refuse(ending->shard, child, hub_id, ending->error, child->of->removed);
}

static void end_all(struct shard *shard, struct child *child, enum error error, bool spares) {
    struct mcp_users *users = mcp_users_of(child);
    struct ending ending = {shard, child, error, spares};
    assert(child->modern && error != ERROR_NONE);
    for (struct list *node = users ? users->users.next : NULL, *next; users && node != &users->users;
         node = next) {
        next = node->next;
        mcp_visit_requests(list_entry(node, struct mcp_user, link), end_pending, &ending);
    }
    if (!spares)
        mcp_request_ids_drop_queue(shard, child);
}

struct child *mcp_modern_requested(const struct child *first, uint64_t hub_id) {
    struct child *child = first->other;
    assert(hub_id && (!child || child->of == first));
    const struct mcp_users *users = child ? mcp_users_of(child) : NULL;
    return users && mcp_request_user(users, hub_id) ? child : NULL;
}

struct counting {
    uint64_t *hub_ids;
    size_t room, count;
};

static void count_one(void *context, uint64_t hub_id) {
    struct counting *counting = context;
    if (counting->count < counting->room)
        counting->hub_ids[counting->count] = hub_id;
    counting->count++;
}

size_t mcp_modern_others(const struct peer *stub, uint64_t *hub_ids, size_t room) {
    const struct child *first = child_of_stub(stub);
    const struct mcp_users *users = first && first->other ? mcp_users_of(first->other) : NULL;
    struct counting counting = {hub_ids, room, 0};
    assert(hub_ids || room == 0);
    for (const struct list *node = users ? users->users.next : NULL; users && node != &users->users;
         node = node->next)
        mcp_visit_requests(list_entry(node, struct mcp_user, link), count_one, &counting);
    return counting.count;
}

// --- Messages of clients

static bool is_stopped(const struct child *child) {
    return child->state == CHILD_STOPPED || child->after == CHILD_AFTER_STOP;
}

static enum error fault_of(const struct shard *shard, const struct child *first, const struct child *child) {
    if (first->no_modern)
        return missing_capability(first);
    if (is_stopped(first) || (child && (is_stopped(child) || child->state == CHILD_DOWN)))
        return ERROR_AGENT_NOT_FOUND;
    if (first->removed)
        return ERROR_AGENT_NOT_FOUND;
    bool is_closing = !first->newest || first->newest->protocol != CHILD_MCP;
    if (is_closing || first->after == CHILD_AFTER_FREE || (child && child->after == CHILD_AFTER_FREE))
        return ERROR_TARGET_DISCONNECTED;
    return child && queue_limit_has_room(shard, child->stub) ? ERROR_NONE : ERROR_OVERLOADED;
}

void mcp_modern_divert(struct shard *shard, struct child *first, struct parcel *parcel) {
    assert(!first->of && shard->index == 0);
    struct child *child = first->other;
    if (!child && !first->no_modern && !is_stopped(first))
        child = children_add_modern(shard, first);
    struct mcp *mcp = child && parcel->source ? mcp_server_state(shard, child) : NULL;
    enum error fault = fault_of(shard, first, child);
    struct mcp_user *user = mcp && !fault ? mcp_user_take(&mcp->users, parcel->source) : NULL;
    if (user)
        user->answers_only = child_mux_answers_only(parcel);
    bool is_full = user && mcp_request_ids_is_full(shard, &mcp->users, parcel);
    if (!fault &&
        (!user || is_full || (parcel->hub_id && !mcp_request_ids_begin(shard, child, user, parcel))))
        fault = ERROR_OVERLOADED;
    if (fault)
        child_reply_refuse_parcel(shard, first, parcel, fault,
                                  is_full ? mcp_request_ids_listens_max(shard) : 0);
    else
        send_queue(shard, child->stub, parcel);
}

// --- Answers

static void give_up(struct shard *shard, struct child *child) {
    assert(child->modern && !child->of->no_modern);
    child->of->no_modern = true;
    child_log(child->of, "it has no process of the modern era");
    end_all(shard, child, missing_capability(child->of), false);
}

// Stops the modern process if it isn't needed. Subscriptions don't keep the process, and end with it.
void mcp_modern_retire(struct shard *shard, struct child *first) {
    struct child *child = first->other;
    const struct mcp *mcp = mcp_of_stub(first->stub);
    bool is_modern = first->state == CHILD_RUNNING && mcp && mcp->answer && mcp->era == MCP_MODERN;
    const struct mcp_users *users = child ? mcp_users_of(child) : NULL;
    assert(!first->of && (!child || child->of == first));
    bool is_closing = !child || child->after == CHILD_AFTER_FREE;
    if (is_modern && !is_closing && (!users || list_empty(&users->by_requests)))
        child_stop(shard, child, CHILD_AFTER_FREE, "disabled");
}

void mcp_modern_answer(struct shard *shard, struct child *child, const struct message *message,
                       uint64_t hub_id) {
    const struct mcp_users *users = mcp_users_of(child);
    const struct lookup *lookup = &message->lookup;
    bool ok = lookup->verdict == LOOKUP_GOOD && lookup->kind == BODY_RESPONSE;
    assert(child->modern && mcp_request_user(users, hub_id));
    bool refuses = ok && lookup_has(lookup, KEY_ERROR) && !lookup_has(lookup, KEY_RESULT);
    bool is_modern = ok && (!refuses || mcp_error_is_modern(message->body, lookup));
    child->era_is_known |= is_modern;
    if (refuses && !is_modern && mcp_request_kind_of(users, hub_id) == MCP_REQUEST_DISCOVER &&
        !child->of->no_modern) {
        give_up(shard, child);
        child_stop(shard, child, CHILD_AFTER_FREE, "disabled");
        return;
    }
    mcp_request_ids_answer(shard, child, message, hub_id);
    mcp_modern_retire(shard, child->of);
}

void mcp_modern_restart(struct shard *shard, struct peer *stub) {
    struct child *child = child_of_stub(stub);
    assert(child->modern && stub->connection.paused);
    bool was_started = child->running_ms != 0; // else the machine couldn't start the program
    bool is_mine = was_started && child->state == CHILD_ENDING && child->after == CHILD_AFTER_END;
    if (is_mine && !child->era_is_known && !child->of->no_modern) {
        give_up(shard, child);
        child->after = CHILD_AFTER_FREE;
        return;
    }
    bool is_again = child->state == CHILD_ENDING && child->after < CHILD_AFTER_STOP;
    end_all(shard, child, ERROR_TARGET_DISCONNECTED, is_again);
}
