#include "router/registry/registry_apply.h"

#include <assert.h>

#include "router/engine/request/completion.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/registry/orders.h"
#include "router/registry/presence.h"
#include "router/registry/subscribe.h"

struct agent *registry_apply_find(struct shard *shard, const struct order *order) {
    return agents_find(&shard->agents, order->agent_id, order->agent_id_bytes);
}

bool registry_apply_is_of(struct shard *shard, const struct order *order, uint64_t connection) {
    const struct agent *agent = registry_apply_find(shard, order);
    return agent && agent->registrant->connection == connection;
}

// Returns the subscriber of a connection of this shard, as long as it can take events; else NULL.
static struct subscriber *subscriber_of_order(const struct shard *shard, const struct order *order) {
    bool here = connection_shard(order->mail.connection) == shard->index;
    struct peer *peer = here ? peer_find(shard, order->mail.connection) : NULL;
    return peer && peer->state == PEER_OPEN ? &peer->subscriber : NULL;
}

// Turns a registration into its opposite, with this error.
static void undo(struct shard *shard, struct order *order, enum error error) {
    assert(order->kind == ORDER_REGISTER && error != ERROR_NONE);
    order->error = error;
    order->kind = ORDER_UNREGISTER;
    quota_accept(&shard->quota, order->reserved_bytes);
    order->reserved_bytes = 0;
}

// Accepts this shard's part of the quota that shard 0 has reserved.
static void accept_share(struct shard *shard, struct order *order) {
    uint64_t share =
        shard->index ? order->reserved_bytes / (shard->hub->start_settings.shard_count - shard->index) : 0;
    quota_accept(&shard->quota, share);
    order->reserved_bytes -= share;
    assert(shard->index + 1 < shard->hub->start_settings.shard_count || order->reserved_bytes == 0);
}

// Has the shard review its peers if rights have changed since the registration was checked.
static void review_later(struct shard *shard, const struct order *order) {
    bool here = order->owner && connection_shard(order->mail.connection) == shard->index;
    const struct peer *peer = here ? peer_find(shard, order->mail.connection) : NULL;
    shard->review_due |= peer && (identity_user(peer) != order->owner ||
                                  order->users_number != shard->settings->users->number);
}

// Returns what an order enters in this shard's table of agents.
static struct agent_profile profile_of(const struct shard *shard, struct order *order) {
    return (struct agent_profile){
        .connection = order->mail.connection,
        .subscriber = subscriber_of_order(shard, order),
        .id = order->agent_id,
        .id_bytes = order->agent_id_bytes,
        .capabilities = order->capabilities,
        .latency = order->latency,
        .governance = order->governance,
        .child = order->child,
        .answer = order->answer,
        .owner = order->owner,
        .holder = order->holder,
        .pool_bytes = order->pool_bytes,
        .hermes = order->hermes,
        .resting = order->resting,
        .absent = order->absent,
        .local_only = order->local_only,
        .connected_since_ms = order->connected_since_ms,
        .held_since_ms = order->held_since_ms,
        .serial = order->serial,
        .judged_for = shard->index == 0 ? shard->hub->start_settings.shard_count : 0,
        .set_aside = &order->reserved_bytes,
    };
}

// Undoes a registration that the table has refused. `refused` and `beyond` are the counts of the quota and of the table
// from before. A count that has risen is the bound that was met; else there was no memory.
static void undo_refused(struct shard *shard, struct order *order, uint64_t refused, uint64_t beyond) {
    bool bounded = shard->quota.refused != refused;
    order->over_share = shard->agents.beyond != beyond;
    order->limit = bounded ? quota_bytes_max(&shard->quota) / (order->over_share ? 2 : 1) : 0;
    undo(shard, order, bounded ? ERROR_OVERLOADED : ERROR_INTERNAL);
}

// Applies a registration. Shard 0 checks the quota for all shards, and notes which connection loses the name.
static void apply_register(struct shard *shard, struct order *order) {
    const struct agent *old = registry_apply_find(shard, order);
    uint64_t holder = old ? old->registrant->connection : order->mail.connection;
    uint64_t refused = shard->quota.refused, beyond = shard->agents.beyond;
    assert(order->capabilities && order->serial && !order->error);
    accept_share(shard, order);
    if (shard->index == 0 && !order->latency)
        order->latency = latency_create(&shard->quota, shard->hub->start_settings.shard_count);
    struct agent_profile profile = profile_of(shard, order);
    bool is_registered = agents_put(&shard->agents, &profile);
    review_later(shard, order);
    admission_applied(shard, order);
    if (shard->index == 0)
        order->replaced = is_registered && holder != order->mail.connection ? holder : 0;
    assert(!profile.subscriber || profile.subscriber->count <= SUBSCRIPTIONS_PER_CONNECTION_MAX);
    if (!is_registered)
        undo_refused(shard, order, refused, beyond);
}

static void remove_agent(struct shard *shard, struct agent *agent, enum presence_reason reason) {
    presence_leave(shard, agent, reason);
    agents_remove(&shard->agents, agent);
}

// Applies an unregistration. A failed registration, which is one now, removes the name from whichever connection has it
// on this shard: on a shard that the registration hasn't reached that is the former holder, which has lost the name on
// the other shards.
static void apply_unregister(struct shard *shard, struct order *order) {
    struct agent *agent = registry_apply_find(shard, order);
    uint64_t holder = agent ? agent->registrant->connection : 0;
    if (!agent || (holder != order->mail.connection && !order->error))
        return;
    enum presence_reason reason = order->revoked ? PRESENCE_RIGHTS : PRESENCE_UNREGISTERED;
    remove_agent(shard, agent, holder == order->mail.connection ? reason : PRESENCE_REPLACED);
}

// Applies ORDER_YIELD: removes the registration with this serial, and no later one.
static void apply_yield(struct shard *shard, struct order *order) {
    struct agent *agent = registry_apply_find(shard, order);
    if (!agent || agent->serial != order->serial)
        return;
    if (shard->index == 0)
        order->replaced = agent->registrant->connection;
    remove_agent(shard, agent, PRESENCE_REPLACED);
}

// Removes a connection's agents, but for a child's own name, which stays.
static void apply_resign(struct shard *shard, struct order *order) {
    struct registrant *registrant = agents_registrant(&shard->agents, order->mail.connection);
    bool restarts = order->kind == ORDER_CHILD_STOPPED;
    for (struct list *node = registrant ? registrant->agents.next : NULL, *next;
         registrant && node != &registrant->agents; node = next) {
        struct agent *agent = list_entry(node, struct agent, by_registrant);
        next = node->next;
        if (!agent->child) {
            remove_agent(shard, agent, restarts ? PRESENCE_DISCONNECTED : PRESENCE_UNREGISTERED);
            continue;
        }
        agent->resting |= restarts;
        if (order->down)
            presence_stop(shard, agent);
    }
}

static void apply_rest(struct shard *shard, struct order *order) {
    struct registrant *registrant = agents_registrant(&shard->agents, order->mail.connection);
    struct exempt_requests exempt_requests = {order->exempt_ids, order->exempt_count, order->others_wait,
                                              order->on_marked != NULL};
    if (registrant)
        order->ended += completion_target_restarts(shard, registrant, &exempt_requests);
    if (registrant)
        feature_registrant_rests(shard, registrant, &exempt_requests, &order->ended);
    apply_resign(shard, order);
}

// Removes agents of a connection, as many as there is time for. Returns whether all are removed.
static bool remove_agents(struct shard *shard, struct registrant *registrant) {
    uint64_t until_ns = io_clock(shard->io) + shard->bounds.registry_ns;
    while (!list_empty(&registrant->agents)) {
        remove_agent(shard, list_entry(registrant->agents.next, struct agent, by_registrant),
                     PRESENCE_DISCONNECTED);
        if (!list_empty(&registrant->agents) && io_clock(shard->io) >= until_ns)
            return false;
    }
    return true;
}

// Ends the link on this shard: subscribers may have missed events of other hubs, and requests there end. Returns false
// if requests are left.
static bool apply_link_lost(struct shard *shard, enum error error) {
    struct registrant *registrant = &shard->remote_link.registrant;
    if (!registrant->leaving)
        subscribe_lost(shard);
    registrant->leaving = true;
    if (!completion_end_some_at(shard, registrant, error))
        return false;
    registrant->connection = 0;
    registrant->leaving = false;
    return true;
}

// Applies ORDER_LEAVE. Returns false if the work goes on in the next turn.
static bool apply_leave(struct shard *shard, struct order *order) {
    if (order->mail.connection == shard->remote_link.registrant.connection)
        return apply_link_lost(shard, ERROR_TARGET_DISCONNECTED);
    struct registrant *registrant = agents_registrant(&shard->agents, order->mail.connection);
    if (!registrant)
        return true;
    registrant->leaving = true;
    if (!completion_end_some_at(shard, registrant,
                                order->removed ? ERROR_AGENT_NOT_FOUND : ERROR_TARGET_DISCONNECTED))
        return false;
    feature_registrant_left(shard, registrant);
    if (!remove_agents(shard, registrant))
        return false;
    agents_remove_registrant(&shard->agents, registrant);
    assert(!agents_registrant(&shard->agents, order->mail.connection));
    return true;
}

bool registry_apply_order(struct shard *shard, struct order *order) {
    bool is_complete = true;
    struct presence_state previous;
    assert(order->stage == ORDER_APPLIED);
    switch (order->kind) {
    case ORDER_REGISTER:
        presence_prepare(shard, order, &previous);
        apply_register(shard, order);
        presence_follow(shard, order, &previous);
        break;
    case ORDER_UNREGISTER:
        apply_unregister(shard, order);
        break;
    case ORDER_YIELD:
        apply_yield(shard, order);
        break;
    case ORDER_RESIGN:
        apply_resign(shard, order);
        break;
    case ORDER_LEAVE:
        is_complete = apply_leave(shard, order);
        break;
    case ORDER_CHILD_STOPPED:
        apply_rest(shard, order);
        break;
    case ORDER_LINK:
        shard_set_link(shard, order->mail.connection);
        break;
    }
    subscribe_note(shard);
    return is_complete;
}
