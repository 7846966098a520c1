#include "router/events/notify_fanout.h"

#include <assert.h>

#include "core/cluster/hub_header.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/annex.h"
#include "router/engine/shard/child_record.h"
#include "router/engine/shard/drop.h"
#include "router/forwarding/forward.h"
#include "router/forwarding/remote_route.h"
#include "router/rights/authz.h"
#include "router/rights/remote_acl_check.h"

// Tells all running instances of a child of which each user has its own: without a note the notification is
// for all.
static void tell_instances(struct shard *shard, const struct message *message, const struct agent *agent) {
    struct parcel *parcel = parcel_forward(&shard->parcels, message->frame);
    assert(agent->child && !message_is_request(message));
    if (!parcel) {
        drop_one(shard, COUNT_DROP_NO_MEMORY, agent->home->connection, message->frame->body.bytes);
        return;
    }
    parcel->lane = (uint8_t)message_lane(message);
    stats_count(&shard->stats, COUNT_NOTIFICATIONS_FORWARDED);
    forward_to(shard, agent->home->connection, parcel);
}

static void tell(struct shard *shard, const struct message *message, struct agent *agent) {
    uint64_t target = agent->home->connection;
    enum error fault = forward_fault(shard, message, target);
    assert(target != message->peer->name && !message_is_request(message));
    if (message->frame->unit->directives.governance > agent->governance) {
        drop_one(shard, COUNT_DROP_EVENT_GOVERNANCE, target, message->frame->body.bytes);
        return;
    }
    agent->home->told = shard->agents.tellings;
    if (fault)
        refuse_untold(shard, message->peer->name, fault, message->frame->body.bytes);
    else if (agent->child && child_record_is_each(agent->child))
        tell_instances(shard, message, agent);
    else
        forward_notification(shard, message, agent, NULL);
}

static const struct group *group_of(const struct shard *shard, const struct message *message) {
    if (message_is_request(message) || message->method_long)
        return NULL;
    return groups_find(&shard->agents.groups, GROUP_NOTICE, message->method, message->method_bytes);
}

static bool is_named(const struct message *message, const struct agent *agent) {
    return agent->home->connection != message->peer->name && !agent->resting;
}

// By this hub's file, and by that of the hub where it comes from.
static bool may_reach(const struct message *message, const struct user *user, const struct agent *agent) {
    return authz_reaches(user, agent) && !remote_acl_check_denies(message, agent) &&
           !remote_acl_check_holds(message, agent);
}

bool notify_fanout_some(const struct shard *shard, const struct message *message,
                        notify_fanout_wanted *wanted) {
    const struct group *group = group_of(shard, message);
    size_t at = 0;
    for (struct agent *agent; group && (agent = group_next(group, &at));)
        if (is_named(message, agent) && (!wanted || wanted(shard, message, agent)))
            return true;
    return false;
}

// How many connections would be told.
static uint32_t count_homes(struct shard *shard, const struct message *message, const struct group *group,
                            const struct user *user) {
    uint32_t count = 0;
    size_t at = 0;
    shard->agents.tellings++;
    for (struct agent *agent; (agent = group_next(group, &at));) {
        if (!is_named(message, agent) || !may_reach(message, user, agent) ||
            agent->home->told == shard->agents.tellings)
            continue;
        agent->home->told = shard->agents.tellings;
        count++;
    }
    return count;
}

// Takes them out of the user's fan-out, as an event's. False: that was refused.
static bool may_fan_out(struct shard *shard, const struct message *message, const struct group *group,
                        const struct user *user) {
    if (!group || !user || !users_rights(user)->limits.fanout)
        return true;
    uint64_t wait_ms = account_fanout(user->account, &users_rights(user)->limits, io_now(shard->io),
                                      count_homes(shard, message, group, user));
    if (wait_ms)
        refuse_limit(shard, message, LIMIT_FANOUT, wait_ms);
    return wait_ms == 0;
}

// Where nobody is known to name it, nothing is lost that can't go.
static bool has_room(struct shard *shard, const struct message *message, const struct agent *link) {
    uint64_t max = atomic_load_explicit(&shard->hub->link_payload_bytes_max, memory_order_relaxed);
    assert(!message_is_request(message));
    return message->frame->unit->bytes + HUB_HEADER_BYTES_MAX < max &&
           !forward_fault(shard, message, link->home->connection);
}

// All other hubs, if there are any to which it may go; NULL: there are none.
static const struct agent *find_others(struct shard *shard, const struct message *message,
                                       struct remote_target *to) {
    if (!shard->hub->settings.cluster || message_is_request(message) || message->method_long)
        return NULL;
    return remote_target_find_all(shard, message, SUBJECT_NOTICE, message->method, message->method_bytes, to);
}

bool notify_fanout_some_elsewhere(struct shard *shard, const struct message *message) {
    struct remote_target to;
    return find_others(shard, message, &to) && remote_target_is_named(shard, &to);
}

// A copy for all other hubs, whoever names it there: the server knows at which somebody does. Whether somebody is known to.
static bool cross(struct shard *shard, const struct message *message, bool named) {
    struct remote_target to;
    const struct agent *link = find_others(shard, message, &to);
    bool there = link && remote_target_is_named(shard, &to);
    if (link && !remote_target_may_go(shard, message, &to)) {
        if (there)
            drop_one(shard, COUNT_DROP_REFUSED, link->home->connection, message->frame->body.bytes);
        return there;
    }
    if (link && (named || there || has_room(shard, message, link)))
        remote_route_copy(shard, message, link, forward_without_id(shard, message), &to);
    return there;
}

// A notification that came from another hub for an agent that offers it isn't for those that name it: these
// get a copy of their own, which is for nobody else.
static bool is_for_others(const struct shard *shard, const struct message *message, enum telling telling) {
    assert(message->peer->transport->is_link);
    return telling == TELLING_ONE && notify_fanout_some(shard, message, NULL);
}

static bool tell_all(struct shard *shard, const struct message *message) {
    const struct group *group = group_of(shard, message);
    const struct user *user = authz_user(shard, message->peer);
    bool named = false;
    size_t at = 0;
    if (!may_fan_out(shard, message, group, user))
        return true;
    shard->agents.tellings++;
    for (struct agent *agent; group && (agent = group_next(group, &at));) {
        if (!is_named(message, agent) || !may_reach(message, user, agent))
            continue;
        named = true;
        if (agent->home->told != shard->agents.tellings)
            tell(shard, message, agent);
    }
    if (__builtin_expect(shard->hub->settings.cluster != NULL, false))
        named |= cross(shard, message, named);
    return named;
}

bool notify_fanout_route(struct shard *shard, const struct message *message) {
    if (message_is_request(message))
        return false;
    if (!message->peer->transport->is_link)
        return tell_all(shard, message);
    enum telling telling = message->peer->annex->telling;
    if (is_for_others(shard, message, telling))
        return true;
    bool named = tell_all(shard, message);
    if (!named && telling == TELLING_ALL) // whoever it was has gone
        drop_one(shard, COUNT_DROP_NO_ROUTE, message->peer->name, message->frame->body.bytes);
    return named || telling == TELLING_ALL;
}
