#include "router/events/notify_fanout.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/engine/shard/drop.h"
#include "router/engine/shard/feature_call.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/remote_route.h"
#include "router/rights/authz.h"

static void notify_agent(struct shard *shard, const struct message *message, struct agent *agent) {
    uint64_t target = agent->registrant->connection;
    enum error fault = forward_fault(shard, message, target);
    assert(target != message->peer->connection_id && !message_is_request(message));
    if (message_required_level(shard, message) > agent->governance) {
        drop_one(shard, COUNT_DROP_EVENT_GOVERNANCE, target, message->frame->body.bytes);
        return;
    }
    agent->registrant->told = shard->agents.tellings;
    if (fault)
        refuse_unreported(shard, message->peer->connection_id, fault, message->frame->body.bytes);
    else if (!feature_notify_agent(shard, message, agent))
        forward_notification(shard, message, agent, NULL);
}

static const struct group *group_of(const struct shard *shard, const struct message *message) {
    if (message_is_request(message) || message->method_long)
        return NULL;
    return groups_find(&shard->agents.groups, GROUP_NOTICE, message->method, message->method_bytes);
}

static bool is_named(const struct message *message, const struct agent *agent) {
    return agent->registrant->connection != message->peer->connection_id && !agent->resting;
}

// Returns whether an agent may be reached. The gate must let a notification of another hub reach the agent, too.
static bool may_reach(const struct shard *shard, const struct message *message, const struct user *user,
                      const struct agent *agent) {
    bool is_held = message->origin && shard->hub->start_settings.approval_level &&
                   authz_requires_approval_at(shard, message, agent);
    return !is_held && authz_reaches(user, agent);
}

bool notify_fanout_some(const struct shard *shard, const struct message *message,
                        notify_fanout_filter *filter) {
    const struct group *group = group_of(shard, message);
    size_t at = 0;
    for (struct agent *agent; group && (agent = group_next(group, &at));)
        if (is_named(message, agent) && (!filter || filter(shard, message, agent)))
            return true;
    return false;
}

// How many connections would be told.
static uint32_t count_registrants(struct shard *shard, const struct message *message,
                                  const struct group *group, const struct user *user) {
    uint32_t count = 0;
    size_t at = 0;
    shard->agents.tellings++;
    for (struct agent *agent; (agent = group_next(group, &at));) {
        if (!is_named(message, agent) || !may_reach(shard, message, user, agent) ||
            agent->registrant->told == shard->agents.tellings)
            continue;
        agent->registrant->told = shard->agents.tellings;
        count++;
    }
    return count;
}

// Charges the user's fan-out limit, as for an event. False: that was refused.
static bool may_fan_out(struct shard *shard, const struct message *message, const struct group *group,
                        const struct user *user) {
    if (!group || !user || !users_rights(user)->limits.fanout || message->origin)
        return true;
    uint64_t wait_ms = account_fanout(user->account, &users_rights(user)->limits, io_now(shard->io),
                                      count_registrants(shard, message, group, user));
    if (wait_ms)
        refuse_limit(shard, message, LIMIT_FANOUT, wait_ms);
    return wait_ms == 0;
}

// A copy for all other hubs: the server knows at which somebody names it.
static void cross(struct shard *shard, const struct message *message) {
    struct remote_target to;
    if (!message->method_long &&
        remote_target_find_all(shard, message, SUBJECT_NOTICE, message->method, message->method_bytes, &to))
        remote_route_copy(shard, message, forward_without_id(shard, message), &to);
}

static bool notify_all(struct shard *shard, const struct message *message) {
    const struct group *group = group_of(shard, message);
    const struct user *user = authz_user(shard, message->peer);
    bool named = false;
    size_t at = 0;
    if (!may_fan_out(shard, message, group, user))
        return true;
    shard->agents.tellings++;
    for (struct agent *agent; group && (agent = group_next(group, &at));) {
        if (!is_named(message, agent) || !may_reach(shard, message, user, agent))
            continue;
        named = true;
        if (agent->registrant->told != shard->agents.tellings)
            notify_agent(shard, message, agent);
    }
    if (__builtin_expect(hub_has_cluster(shard->hub), false))
        cross(shard, message);
    return named;
}

bool notify_fanout_route(struct shard *shard, const struct message *message) {
    const struct origin *origin = message->origin;
    if (message_is_request(message) || (origin && origin->target) ||
        message->approved == MESSAGE_APPROVED_FOR_ONE)
        return false;
    if (!origin)
        return notify_all(shard, message);
    if (origin->kind != SUBJECT_NOTICE) // agents that name the method get the copy under SUBJECT_NOTICE
        return origin->hub.bytes ? notify_fanout_some(shard, message, NULL) : notify_all(shard, message);
    if (!notify_all(shard, message)) // the agents that named the method have left
        drop_one(shard, COUNT_DROP_NO_ROUTE, message->peer->connection_id, message->frame->body.bytes);
    return true;
}
