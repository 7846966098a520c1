#include "router/features/children/pool_affinity.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/annex.h"
#include "router/engine/shard/child_record.h"

static bool is_of_pool(const struct agent *agent, const struct agent *chosen) {
    return agent->pool_bytes == chosen->pool_bytes && memcmp(agent->id, chosen->id, chosen->pool_bytes) == 0;
}

// The agent at a connection that is of the same pool; NULL: it has gone, or won't run again.
static struct agent *agent_at(struct shard *shard, uint64_t connection, const struct agent *chosen) {
    struct home *home = agents_home(&shard->agents, connection);
    for (struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next) {
        struct agent *agent = list_entry(node, struct agent, by_home);
        if (!agent->absent && is_of_pool(agent, chosen))
            return agent;
    }
    return NULL;
}

// The place of an instance that is no more may be used for this pool.
static struct pool_affinity *find_affinity(struct shard *shard, struct annex *annex,
                                           const struct agent *chosen, struct agent **agent) {
    struct pool_affinity *stale = NULL;
    *agent = NULL;
    for (struct pool_affinity *affinity = annex->affinities; affinity; affinity = affinity->next) {
        *agent = agent_at(shard, affinity->connection, chosen);
        if (*agent)
            return affinity;
        if (!agents_home(&shard->agents, affinity->connection))
            stale = affinity;
    }
    return stale;
}

struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen) {
    struct agent *agent;
    assert(chosen->pool_bytes > 0 && connection_shard(peer->name) == shard->index);
    struct annex *annex =
        chosen->child && child_record_is_mcp(chosen->child) ? peer_annex(shard, peer) : NULL;
    struct pool_affinity *affinity = annex ? find_affinity(shard, annex, chosen, &agent) : NULL;
    if (!annex)
        return chosen;
    if (agent)
        return agent;
    if (!affinity) {
        affinity = quota_take(&shard->quota, sizeof *affinity);
        if (!affinity)
            return chosen;
        affinity->next = annex->affinities;
        annex->affinities = affinity;
    }
    affinity->connection = chosen->home->connection;
    return chosen;
}
