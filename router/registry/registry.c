#include "router/registry/registry.h"

#include <assert.h>
#include <string.h>

#include "router/engine/request/completion.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/reply.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/engine/shard/post.h"
#include "router/registry/claim_table.h"
#include "router/registry/orders.h"
#include "router/registry/registry_apply.h"

// --- Checks of an order on shard 0

static size_t agents_at(struct shard *shard, uint64_t connection) {
    struct registrant *registrant = agents_registrant(&shard->agents, connection);
    size_t count = 0;
    for (struct list *node = registrant ? registrant->agents.next : NULL;
         registrant && node != &registrant->agents; node = node->next)
        count++;
    return count;
}

// Returns how many registrations of the order's connection wait for other hubs. Each costs a question to every hub, so
// each counts.
static size_t waiting_at(const struct shard *shard, const struct order *order) {
    return shard->claims ? claim_table_count(shard->claims, order->mail.connection) : 0;
}

// Returns whether a registration may take the name of another connection (--takeover). With a users file both must be
// of one user.
static bool may_take_over(const struct shard *shard, const struct order *order, const struct user *owner) {
    assert(order->kind == ORDER_REGISTER);
    return shard->settings->takeover && (!shard->settings->users || identity_same(owner, order->owner));
}

// Returns ERROR_NONE if the order may be applied. Otherwise returns the error, and sets order->limit if a limit is the
// reason.
static enum error registry_check_order(struct shard *shard, struct order *order) {
    const struct agent *agent = registry_apply_find(shard, order);
    bool own = agent && agent->registrant->connection == order->mail.connection;
    assert(shard->index == 0);
    switch (order->kind) {
    case ORDER_REGISTER:
        if (agent && !own && !order->child && (agent->child || !may_take_over(shard, order, agent->owner)))
            return ERROR_AGENT_ID_TAKEN;
        if (!own && agents_at(shard, order->mail.connection) + waiting_at(shard, order) >=
                        AGENTS_PER_CONNECTION_MAX) {
            order->limit = AGENTS_PER_CONNECTION_MAX;
            return ERROR_OVERLOADED;
        }
        return ERROR_NONE;
    case ORDER_UNREGISTER:
        if (own && order->revoked && agent->serial != order->serial)
            return ERROR_AGENT_NOT_FOUND;
        return own && !agent->child ? ERROR_NONE : ERROR_AGENT_NOT_FOUND;
    case ORDER_YIELD:
        return agent && agent->serial == order->serial && !agent->child ? ERROR_NONE : ERROR_AGENT_NOT_FOUND;
    default:
        return ERROR_NONE;
    }
}

// --- Notifications of lost names

static void notify_replaced(struct shard *shard, struct peer *peer, const struct order *order) {
    assert(peer->connection_id != order->mail.connection || order->revoked);
    struct text body;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/replaced\",\"params\":{\"agentId\":");
    text_string(&body, order->agent_id, order->agent_id_bytes);
    text_put(&body, "}}");
    reply_notify(shard, peer, &body);
}

// Tells a connection, on its own shard, that another connection has taken its name. A connection that has registered
// the name anew since, and has the answer, isn't told: it would take that for another loss.
static void notify_loser(struct shard *shard, const struct order *order) {
    assert(order->stage == ORDER_NOTIFYING && connection_shard(order->replaced) == shard->index);
    struct peer *peer = peer_find(shard, order->replaced);
    if (peer && (peer->admission.orders > 0 || !registry_apply_is_of(shard, order, peer->connection_id)))
        notify_replaced(shard, peer, order);
}

// Tells a connection that its user may not have the agent any more.
static void notify_revoked(struct shard *shard, const struct order *order) {
    assert(order->stage == ORDER_SETTLED && order->kind == ORDER_UNREGISTER);
    struct peer *peer = order->error ? NULL : peer_find(shard, order->mail.connection);
    if (peer && peer->state == PEER_OPEN)
        notify_replaced(shard, peer, order);
}

// --- The round over all shards

static void pass_on(struct shard *shard, struct order *order, uint32_t to) {
    assert(to < shard->hub->start_settings.shard_count);
    assert(to != shard->index || order->stage != ORDER_APPLIED); // which may have to go on in a later turn
    if (to == shard->index)
        registry_step(shard, order);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &order->mail);
}

static void registry_settle(struct shard *shard, struct order *order) {
    assert(order->stage != ORDER_SETTLED);
    order->stage = ORDER_SETTLED;
    pass_on(shard, order, connection_shard(order->mail.connection));
}

// Settles an order that all shards have applied. In a cluster, the answer to a registration waits until the NATS server
// knows the agent (features/cluster/name_claim.c), so that a peer with the answer finds the agent from every hub. The
// connection's later orders don't wait.
static void confirm(struct shard *shard, struct order *order) {
    assert(order->stage == ORDER_APPLIED); // a failed registration is an unregistration by now
    if (order->kind != ORDER_REGISTER || !order->request_id || !hub_has_cluster(shard->hub)) {
        registry_settle(shard, order);
        return;
    }
    order->stage = ORDER_IN_FORCE;
    pass_on(shard, order, connection_shard(order->mail.connection));
}

static void admit_next(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    admission_settled(shard, order);
    order->in_flight = false;
    order->stage = ORDER_CONFIRMING;
    pass_on(shard, order, 0);
}

// Returns whether the connection has lost the name again. The answer must come before hub/replaced.
static bool is_lost(struct shard *shard, const struct order *order) {
    return !registry_apply_is_of(shard, order, order->mail.connection);
}

static void begin_barrier(struct shard *shard, struct order *order) {
    assert(shard->index == 0 && shard->claims);
    if (is_lost(shard, order)) {
        registry_settle(shard, order);
        return;
    }
    order->barrier_ping = 0;
    order->barrier_ms = order->claim_number ? order->claimed_ms : shard_now_ms(shard);
    list_append(&shard->barrier, &order->by_barrier);
}

void registry_confirmed(struct shard *shard, struct order *order) {
    assert(shard->index == 0 && order->stage == ORDER_CONFIRMING);
    list_remove(&order->by_barrier);
    registry_settle(shard, order);
}

// Returns a registration in shard->barrier for the name that the order ends or takes; or NULL.
static struct order *find_unconfirmed(const struct shard *shard, const struct order *order) {
    for (struct list *node = shard->barrier.next; node != &shard->barrier; node = node->next) {
        struct order *unconfirmed = list_entry(node, struct order, by_barrier);
        bool is_renewed =
            order->kind == ORDER_REGISTER && unconfirmed->mail.connection == order->mail.connection;
        if (!is_renewed && unconfirmed->agent_id_bytes == order->agent_id_bytes &&
            memcmp(unconfirmed->agent_id, order->agent_id, order->agent_id_bytes) == 0)
            return unconfirmed;
    }
    return NULL;
}

// Answers the registration of a peer that is about to lose the name against its will, so that the answer comes before
// hub/replaced.
static void confirm_before(struct shard *shard, const struct order *order) {
    bool is_voluntary = order->kind == ORDER_UNREGISTER && !order->revoked;
    if (is_voluntary || !order->agent_id_bytes || !registry_apply_find(shard, order))
        return;
    for (struct order *unconfirmed; (unconfirmed = find_unconfirmed(shard, order));)
        registry_confirmed(shard, unconfirmed);
}

// Returns whether shard 0 need not undo a failed registration: a later registration has the agentId, and all shards
// apply that one later.
static bool is_undone(struct shard *shard, const struct order *order) {
    const struct agent *agent = registry_apply_find(shard, order);
    assert(shard->index == 0 && order->error && order->serial);
    return agent && agent->serial != order->serial;
}

// Applies an order on this shard and passes it on. Returns false if the work goes on in the next turn.
static bool apply_here(struct shard *shard, struct order *order) {
    enum error previous = order->error;
    if (previous && shard->index == 0 && is_undone(shard, order)) {
        registry_settle(shard, order);
        return true;
    }
    if (!registry_apply_order(shard, order))
        return false;
    if (order->error != previous && shard->index == 0) { // no shard has applied the order
        registry_settle(shard, order);
    } else if (order->error != previous) { // the opposite goes to all shards
        order->stage = ORDER_APPLIED;
        pass_on(shard, order, 0);
    } else if (shard->index + 1 < shard->hub->start_settings.shard_count) {
        pass_on(shard, order, shard->index + 1);
    } else {
        confirm(shard, order);
    }
    return true;
}

// --- The decision, with the answers of other hubs

// Decides an order on shard 0, and begins to apply it. `is_taken`: another hub has the name. Returns false if applying
// goes on in the next turn.
static bool decide(struct shard *shard, struct order *order, bool is_taken) {
    order->error = is_taken ? ERROR_AGENT_ID_TAKEN : registry_check_order(shard, order);
    if (order->error) {
        registry_settle(shard, order);
        return true;
    }
    confirm_before(shard, order);
    if (order->kind != ORDER_YIELD)
        order->serial = ++shard->agents.serials;
    order->held_since_ms = shard_now_ms(shard);
    order->stage = ORDER_APPLIED;
    return apply_here(shard, order);
}

// Returns whether other hubs must be asked about the name of a registration. They aren't asked if this hub refuses the
// registration anyway, if the connection has the name already, or for a child, which has its name at every hub.
static bool must_claim(struct shard *shard, struct order *order) {
    assert(order->kind == ORDER_REGISTER && shard->claims);
    return shard->claims->open && !order->child && !order->absent && !registry_apply_find(shard, order) &&
           registry_check_order(shard, order) == ERROR_NONE;
}

// Decides an order that has waited for other hubs. Then the connection's later orders for the same name are decided, or
// wait in turn unless `now`.
static void release(struct shard *shard, struct order *order, bool is_taken, bool now) {
    struct order *next = order->next_same, *last = order->next_same_last;
    assert(!next == !last);
    claim_table_remove(order);
    decide(shard, order, is_taken);
    while ((order = next)) {
        next = order->next_same;
        order->next_same = order->next_same_last = NULL;
        if (now || !must_claim(shard, order)) {
            decide(shard, order, false);
            continue;
        }
        order->next_same = next;
        order->next_same_last = next ? last : NULL;
        claim_table_add(shard->claims, order);
        return;
    }
}

void registry_claimed(struct shard *shard, struct order *order, bool is_taken) {
    assert(shard->index == 0 && order->stage == ORDER_SUBMITTED);
    release(shard, order, is_taken, false);
}

static void wait_behind(struct order *first, struct order *order) {
    assert(first != order && !order->next_same);
    if (first->next_same)
        first->next_same_last->next_same = order;
    else
        first->next_same = order;
    first->next_same_last = order;
}

// Lets a registration wait behind an earlier one for the same name that waits for other hubs, or refuses it. Returns
// whether it did.
static bool wait_or_refuse(struct shard *shard, struct order *order) {
    struct order *first = claim_table_find(shard->claims, order->agent_id, order->agent_id_bytes);
    if (!first)
        return false;
    if (first->mail.connection == order->mail.connection) {
        wait_behind(first, order);
        return true;
    }
    bool may_take = order->child || may_take_over(shard, order, first->owner);
    if (may_take)
        release(shard, first, false, true);
    else
        decide(shard, order, true);
    return !may_take;
}

// Decides the connection's earlier registrations before an order that ends agents of the connection.
static void release_earlier(struct shard *shard, const struct order *order) {
    struct order *first;
    assert(order->kind != ORDER_REGISTER);
    if (order->kind == ORDER_UNREGISTER) {
        first = claim_table_find(shard->claims, order->agent_id, order->agent_id_bytes);
        if (first && first->mail.connection == order->mail.connection)
            release(shard, first, false, true);
        return;
    }
    while ((first = claim_table_of(shard->claims, order->mail.connection)))
        release(shard, first, false, true);
}

static bool begin(struct shard *shard, struct order *order) {
    assert(shard->index == 0 && order->stage == ORDER_SUBMITTED);
    if (shard->claims && order->kind != ORDER_REGISTER)
        release_earlier(shard, order);
    else if (shard->claims && wait_or_refuse(shard, order))
        return true;
    if (!shard->claims || order->kind != ORDER_REGISTER || !must_claim(shard, order))
        return decide(shard, order, false);
    claim_table_add(shard->claims, order);
    return true;
}

bool registry_yield(struct shard *shard, uint64_t link, const struct agent *agent) {
    struct order *order = order_create(shard, ORDER_YIELD, link);
    assert(shard->index == 0 && !agent->child);
    if (!order)
        return false;
    memcpy(order->agent_id, agent->id, agent->id_bytes);
    order->agent_id_bytes = (uint32_t)agent->id_bytes;
    order->serial = agent->serial;
    registry_submit(shard, order);
    return true;
}

// Counts an order that must be answered for its peer: a peer that has half-closed stays until then.
static void count_for_peer(struct shard *shard, const struct order *order, int change) {
    struct peer *peer = order->request_id ? peer_find(shard, order->mail.connection) : NULL;
    if (!peer)
        return;
    assert(change > 0 || peer->awaited > 0);
    peer->awaited += (uint32_t)change;
    if (change < 0)
        peer_settle(shard, peer);
}

static void mark_pending(struct shard *shard, const struct order *order) {
    struct registrant *registrant = agents_registrant(&shard->agents, order->mail.connection);
    assert(order->kind == ORDER_CHILD_STOPPED);
    if (!registrant)
        return;
    completion_mark(registrant);
    feature_registrant_marked(shard, registrant);
}

static void mark_next_shard(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    while (order->mark_next < shard->hub->start_settings.shard_count) {
        uint32_t to = order->mark_next++;
        if (to != shard->index) {
            pass_on(shard, order, to);
            return;
        }
        mark_pending(shard, order);
    }
    order->on_marked(shard, order);
    order->stage = ORDER_SUBMITTED;
    admission_submit(shard, order);
}

// Marks this shard's requests and sends the order back. The connection's shard, to which it comes back, sends it on.
static void registry_mark(struct shard *shard, struct order *order) {
    uint32_t from = connection_shard(order->mail.connection);
    if (from == shard->index) {
        mark_next_shard(shard, order);
        return;
    }
    mark_pending(shard, order);
    pass_on(shard, order, from);
}

void registry_submit(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    order->stage = order->on_marked ? ORDER_MARKING : ORDER_SUBMITTED;
    count_for_peer(shard, order, 1);
    shard->orders_out++;
    if (order->on_marked)
        mark_next_shard(shard, order);
    else
        admission_submit(shard, order);
}

static void registry_end(struct shard *shard, struct order *order) {
    assert(shard->orders_out > 0 && connection_shard(order->mail.connection) == shard->index);
    shard->orders_out--;
    order_destroy(shard, order);
}

// Ends an order on its connection's shard: answers the request. A connection that has lost the name is told by way of
// the last shard, so that hub/replaced comes behind the answer to that connection's own registration.
static void registry_return(struct shard *shard, struct order *order) {
    if (order->error && !order->request_id && !order->revoked && order->kind != ORDER_YIELD)
        refuse_unreported(shard, order->mail.connection, order->error, 0);
    order_answer(shard, order);
    if (order->revoked)
        notify_revoked(shard, order);
    admission_settled(shard, order);
    if (order->had_requests)
        *order->had_requests |= order->ended > 0;
    if (order->awaiting_count)
        --*order->awaiting_count;
    if (order->kind == ORDER_LINK && shard->remote_link.registrant.connection == order->mail.connection)
        stats_gauge(&shard->stats, GAUGE_REMOTE_LINK, 1); // all shards know the link
    count_for_peer(shard, order, -1);
    if (!order->replaced) {
        registry_end(shard, order);
        return;
    }
    order->stage = ORDER_NOTIFYING;
    pass_on(shard, order, shard->hub->start_settings.shard_count - 1);
}

static void registry_notify(struct shard *shard, struct order *order) {
    if (connection_shard(order->replaced) != shard->index) {
        pass_on(shard, order, connection_shard(order->replaced));
        return;
    }
    notify_loser(shard, order);
    order->stage = ORDER_NOTIFIED;
    pass_on(shard, order, connection_shard(order->mail.connection));
}

bool registry_step(struct shard *shard, struct order *order) {
    switch (order->stage) {
    case ORDER_MARKING:
        registry_mark(shard, order);
        break;
    case ORDER_SUBMITTED:
        return begin(shard, order);
    case ORDER_APPLIED:
        return apply_here(shard, order);
    case ORDER_IN_FORCE:
        admit_next(shard, order);
        break;
    case ORDER_CONFIRMING:
        begin_barrier(shard, order);
        break;
    case ORDER_SETTLED:
        registry_return(shard, order);
        break;
    case ORDER_NOTIFYING:
        registry_notify(shard, order);
        break;
    case ORDER_NOTIFIED:
        registry_end(shard, order);
        break;
    }
    return true;
}

void registry_leave(struct shard *shard, struct peer *peer) {
    struct order *leave = peer->leave_order;
    assert(peer->state != PEER_OPEN && (!leave || leave->kind == ORDER_LEAVE));
    peer->leave_order = NULL;
    admission_leave(shard, peer);
    if (leave)
        registry_submit(shard, leave);
}
