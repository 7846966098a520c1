#include "router/registry/presence.h"

#include <assert.h>
#include <string.h>

#include "router/rights/authz.h"

static const char *const reasons[] = {"", "unregistered", "disconnected", "replaced", "rights", "stopped"};
#define REASONS (sizeof reasons / sizeof *reasons)

const char *presence_reason_text(enum presence_reason reason) {
    assert(reason > PRESENCE_REGISTERED && reason < REASONS);
    return reasons[reason];
}

enum presence_reason presence_reason_read(const char *text, size_t bytes) {
    size_t reason = REASONS - 1;
    while (reason > PRESENCE_REGISTERED &&
           (bytes != strlen(reasons[reason]) || memcmp(text, reasons[reason], bytes) != 0))
        reason--;
    return (enum presence_reason)reason;
}

static bool is_last(const struct shard *shard) {
    return shard->index + 1 == shard->hub->start_settings.shard_count;
}

// Returns whether this hub or another hub has subscribers to presence.
static bool has_subscribers(const struct shard *shard) {
    return atomic_load_explicit(&shard->hub->presence_subscriptions, memory_order_acquire) > 0 ||
           atomic_load_explicit(&shard->hub->presence_hubs, memory_order_acquire) > 0;
}

// --- Changes

struct presence_change *presence_hold(struct presence_change *change) {
    assert(change->references > 0);
    change->references++;
    return change;
}

void presence_drop(struct shard *shard, struct presence_change *change) {
    assert(change->references > 0 && shard->presence.count > 0);
    if (--change->references)
        return;
    if (change->capabilities)
        shard->presence.capabilities_bytes -= change->capabilities->bytes;
    capabilities_drop(&shard->quota, change->capabilities);
    list_remove(&change->link);
    quota_give(&shard->quota, change);
    shard->presence.count--;
}

bool presence_is_seen(const struct presence_change *change, const struct user *user) {
    const struct capabilities *capabilities = change->capabilities;
    assert(change->agent_id_bytes > 0);
    return !user || authz_sees_described(user, change->agent_id, change->agent_id_bytes,
                                         capabilities ? capabilities->text : NULL,
                                         capabilities ? capabilities_span(capabilities) : (struct span){0});
}

// Returns the agent's capabilities, without a reference, if a change needs them: to tell them, or to decide with a
// users file who may see the agent. Otherwise returns NULL.
static struct capabilities *capabilities_needed(const struct shard *shard, const struct agent *agent,
                                                enum presence_reason reason) {
    bool has_subscribers =
        reason == PRESENCE_REGISTERED && agent->capabilities->bytes <= PRESENCE_TOLD_BYTES_MAX;
    return has_subscribers || shard->settings->users ? agent->capabilities : NULL;
}

void presence_miss(struct shard *shard, enum presence_reason reason) {
    *(reason == PRESENCE_REGISTERED ? &shard->presence.missed_came : &shard->presence.missed_went) += 1;
}

// Keeps a copy of a change. NULL without room or memory: subscribers to such changes are told that they have missed
// one.
static struct presence_change *keep(struct shard *shard, const struct presence_change *noted) {
    struct presence_queue *queue = &shard->presence;
    size_t bytes = queue->capabilities_bytes + (noted->capabilities ? noted->capabilities->bytes : 0);
    bool has_room = queue->count < PRESENCE_CHANGES_MAX && bytes <= PRESENCE_CAPABILITIES_BYTES_MAX;
    struct presence_change *change = has_room ? quota_take_anyway(&shard->quota, sizeof *change) : NULL;
    if (!change) {
        presence_miss(shard, noted->reason);
        return NULL;
    }
    *change = *noted;
    change->references = 1;
    if (change->capabilities)
        capabilities_hold(change->capabilities);
    list_init(&change->link);
    list_append(&queue->changes, &change->link);
    queue->count++;
    queue->capabilities_bytes = bytes;
    return change;
}

void presence_note_remote(struct shard *shard, const struct presence_change *change) {
    assert(shard->index == 0 && change->hub.bytes && !change->connection);
    keep(shard, change);
}

// Notes a change of an agent of this hub; NULL as above.
static struct presence_change *note(struct shard *shard, const struct agent *agent,
                                    enum presence_reason reason) {
    assert(is_last(shard) && agent);
    struct presence_change change = {
        .reason = reason,
        .governance = agent->governance,
        .connection = agent->registrant->connection,
        .local_only = agent->local_only,
        .capabilities = capabilities_needed(shard, agent, reason),
        .agent_id_bytes = agent->pool_bytes ? agent->pool_bytes : (uint32_t)agent->id_bytes,
    };
    memcpy(change.agent_id, agent->id, change.agent_id_bytes);
    return keep(shard, &change);
}

// --- Children

// Returns a digest of a child's description, never 0. Equal digests stand for equal descriptions.
static uint64_t digest(const struct shard *shard, const struct agent *agent) {
    const struct capabilities *capabilities = agent->capabilities;
    assert(agent->child && agent->governance < GOVERNANCE_COUNT);
    uint64_t of_text =
        siphash_table(&shard->hub->start_settings.secrets.tables, capabilities->text, capabilities->bytes);
    return (of_text << 3 | (uint64_t)agent->governance << 1) | 1;
}

// Returns whether subscribers were told of another instance of the agent's pool.
static bool is_known_by_others(const struct shard *shard, const struct agent *agent) {
    const struct group *pool =
        agent->pool_bytes ? groups_find(&shard->agents.groups, GROUP_POOL, agent->id, agent->pool_bytes)
                          : NULL;
    size_t at = 0;
    for (const struct agent *other; pool && (other = group_next(pool, &at));)
        if (other != agent && other->told)
            return true;
    return false;
}

static bool is_first_instance(const struct agent *agent) {
    return !agent->pool_bytes || agent->pool_bytes == agent->id_bytes;
}

void presence_stop(struct shard *shard, struct agent *agent) {
    assert(agent->child);
    if (!is_last(shard) || !agent->told)
        return;
    agent->told = 0;
    if (has_subscribers(shard) && !is_known_by_others(shard, agent))
        note(shard, agent, PRESENCE_STOPPED);
}

static void follow_child(struct shard *shard, struct agent *agent) {
    uint64_t previous = agent->told;
    assert(agent->child && is_last(shard));
    if (agent->absent)
        presence_stop(shard, agent);
    if (agent->absent || agent->resting)
        return;
    agent->told = digest(shard, agent);
    bool is_new = !previous && !is_known_by_others(shard, agent);
    bool is_other = previous && previous != agent->told && is_first_instance(agent);
    if ((is_new || is_other) && has_subscribers(shard))
        note(shard, agent, PRESENCE_REGISTERED);
}

// --- Agents

static bool is_unchanged(const struct agent *agent, const struct order *order) {
    const struct capabilities *previous = agent->capabilities, *now = order->capabilities;
    return agent->governance == order->governance && previous->bytes == now->bytes &&
           memcmp(previous->text, now->text, now->bytes) == 0;
}

// Returns whether the order is the link's, which is no agent.
static bool is_of_link(const struct order *order) {
    return order->absent && !order->child;
}

void presence_prepare(struct shard *shard, const struct order *order, struct presence_state *previous) {
    assert(order->kind == ORDER_REGISTER && order->capabilities);
    *previous = (struct presence_state){0};
    if (!is_last(shard) || is_of_link(order) || !has_subscribers(shard))
        return;
    const struct agent *agent = agents_find(&shard->agents, order->agent_id, order->agent_id_bytes);
    if (!agent)
        return;
    bool renews = agent->registrant->connection == order->mail.connection;
    previous->is_unchanged = renews && is_unchanged(agent, order);
    if (!renews && (!agent->child || (agent->told && !is_known_by_others(shard, agent))))
        previous->replaced = note(shard, agent, PRESENCE_REPLACED);
}

void presence_follow(struct shard *shard, const struct order *order, const struct presence_state *previous) {
    if (!is_last(shard) || is_of_link(order))
        return;
    if (order->error) { // the former agent stays
        if (previous->replaced)
            presence_drop(shard, previous->replaced);
        return;
    }
    struct agent *agent = agents_find(&shard->agents, order->agent_id, order->agent_id_bytes);
    assert(agent && agent->registrant->connection == order->mail.connection);
    if (agent->child)
        follow_child(shard, agent);
    else if (!previous->is_unchanged && has_subscribers(shard))
        note(shard, agent, PRESENCE_REGISTERED);
}

void presence_leave(struct shard *shard, struct agent *agent, enum presence_reason reason) {
    assert(reason != PRESENCE_REGISTERED);
    if (!is_last(shard))
        return;
    if (agent->child)
        presence_stop(shard, agent);
    else if (has_subscribers(shard))
        note(shard, agent, reason);
}
