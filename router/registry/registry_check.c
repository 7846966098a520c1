#include "router/registry/registry_check.h"

#include <assert.h>

#include "router/engine/shard/identity.h"
#include "router/registry/claim_table.h"
#include "router/registry/registry_apply.h"

static size_t agents_at(struct shard *shard, uint64_t connection) {
    struct home *home = agents_home(&shard->agents, connection);
    size_t count = 0;
    for (struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next)
        count++;
    return count;
}

// Each of them is asked of all hubs, and each of those answers.
static size_t waiting_at(const struct shard *shard, const struct order *order) {
    return shard->claims ? claim_table_count(shard->claims, order->mail.connection) : 0;
}

bool registry_check_may_follow(const struct shard *shard, const struct order *order,
                               const struct user *owner) {
    assert(order->kind == ORDER_REGISTER);
    return shard->settings->takeover && (!shard->settings->users || identity_same(owner, order->owner));
}

enum error registry_check_order(struct shard *shard, struct order *order) {
    const struct agent *agent = registry_apply_find(shard, order);
    bool own = agent && agent->home->connection == order->mail.connection;
    assert(shard->index == 0);
    switch (order->kind) {
    case ORDER_REGISTER:
        if (agent && !own && !order->child &&
            (agent->child || !registry_check_may_follow(shard, order, agent->owner)))
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
