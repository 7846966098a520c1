#include "core/agents.h"

#include <assert.h>
#include <string.h>

#include "core/limits.h"
#include "core/memory.h"

void agents_init(struct agents *agents, uint64_t seed) {
    *agents = (struct agents){0};
    names_init(&agents->by_id, seed);
    groups_init(&agents->groups, seed);
    topics_init(&agents->topics, seed);
    list_init(&agents->all);
    for (size_t chain = 0; chain < HOME_CHAINS; chain++)
        list_init(&agents->homes[chain]);
}

void agents_deinit(struct agents *agents) {
    while (!list_empty(&agents->all)) {
        struct agent *agent = list_entry(agents->all.next, struct agent, link);
        agents_remove_home(agents, agent->home);
    }
    names_deinit(&agents->by_id);
    groups_deinit(&agents->groups);
    topics_deinit(&agents->topics);
}

struct agent *agents_find(const struct agents *agents, const char *id, size_t id_bytes) {
    return names_get(&agents->by_id, id, id_bytes);
}

// Fibonacci hashing: the top bits of the product.
static struct list *chain_of(struct agents *agents, uint64_t connection) {
    return &agents->homes[(connection * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - HOME_CHAIN_BITS)];
}

struct home *agents_home(struct agents *agents, uint64_t connection) {
    struct list *chain = chain_of(agents, connection);
    for (struct list *node = chain->next; node != chain; node = node->next) {
        struct home *home = list_entry(node, struct home, link);
        if (home->connection == connection)
            return home;
    }
    return NULL;
}

static struct home *home_at(struct agents *agents, uint64_t connection) {
    struct home *home = agents_home(agents, connection);
    if (home)
        return home;
    home = memory_take(sizeof *home);
    if (!home)
        return NULL;
    home->connection = connection;
    list_init(&home->agents);
    list_init(&home->pending);
    list_append(chain_of(agents, connection), &home->link);
    return home;
}

// --- Agents

static void agent_free(struct agents *agents, struct agent *agent) {
    topics_leave(&agents->topics, agent);
    memory_give(agent->capabilities);
    memory_give(agent);
}

static struct agent *agent_make(const struct agent_offer *offer) {
    struct agent *agent = memory_take_zeroed(1, sizeof *agent + offer->id_bytes);
    char *capabilities = memory_take_zeroed(1, offer->capabilities_bytes + BUFFER_SLACK_BYTES);
    if (!agent || !capabilities) {
        memory_give(agent);
        memory_give(capabilities);
        return NULL;
    }
    memcpy(capabilities, offer->capabilities, offer->capabilities_bytes);
    agent->capabilities = capabilities;
    agent->capabilities_bytes = offer->capabilities_bytes;
    agent->governance = offer->governance;
    agent->connected_since_ms = offer->connected_since_ms;
    agent->id_bytes = offer->id_bytes;
    memcpy(agent->id, offer->id, offer->id_bytes);
    list_init(&agent->by_home);
    list_init(&agent->link);
    return agent;
}

static void unlink_agent(struct agents *agents, struct agent *agent) {
    groups_leave(&agents->groups, agent);
    names_remove(&agents->by_id, agent->id, agent->id_bytes);
    list_remove(&agent->by_home);
    list_remove(&agent->link);
    agents->count--;
}

static bool link_agent(struct agents *agents, struct agent *agent, struct home *home) {
    if (!names_add(&agents->by_id, agent->id, agent->id_bytes, agent))
        return false;
    list_append(&home->agents, &agent->by_home);
    list_append(&agents->all, &agent->link);
    agents->count++;
    if (groups_join(&agents->groups, agent))
        return true;
    unlink_agent(agents, agent);
    return false;
}

static void drop_home_if_idle(struct home *home) {
    if (!list_empty(&home->agents) || !list_empty(&home->pending))
        return;
    list_remove(&home->link);
    memory_give(home);
}

// A new agent with its subscriptions, but not to be found yet.
static struct agent *prepare(struct agents *agents, const struct agent_offer *offer) {
    struct agent *agent = agent_make(offer);
    struct home *home = agent ? home_at(agents, offer->connection) : NULL;
    if (home) {
        agent->home = home;
        if (topics_join(&agents->topics, agent, offer->subscriber))
            return agent;
        drop_home_if_idle(home);
    }
    if (agent)
        agent_free(agents, agent);
    return NULL;
}

// The new one is whole before the old one goes, so that a subscription that both list stays; if the new one
// can't be linked, the old one is put back, for which the memory is there since it has just been given back.
struct agent *agents_put(struct agents *agents, const struct agent_offer *offer) {
    struct agent *agent = prepare(agents, offer);
    if (!agent)
        return NULL;
    struct home *home = agent->home;
    struct agent *old = agents_find(agents, offer->id, offer->id_bytes);
    assert(!old || old->home == home);
    if (old) {
        agent->connected_since_ms = old->connected_since_ms;
        unlink_agent(agents, old);
    }
    if (link_agent(agents, agent, home)) {
        if (old)
            agent_free(agents, old);
        return agent;
    }
    agent_free(agents, agent);
    if (old && !link_agent(agents, old, home))
        agent_free(agents, old);
    drop_home_if_idle(home);
    return NULL;
}

void agents_remove(struct agents *agents, struct agent *agent) {
    unlink_agent(agents, agent);
    agent_free(agents, agent);
}

void agents_silence_home(struct agents *agents, struct home *home) {
    for (struct list *node = home->agents.next; node != &home->agents; node = node->next)
        topics_leave(&agents->topics, list_entry(node, struct agent, by_home));
}

void agents_remove_home(struct agents *agents, struct home *home) {
    assert(list_empty(&home->pending));
    while (!list_empty(&home->agents))
        agents_remove(agents, list_entry(home->agents.next, struct agent, by_home));
    list_remove(&home->link);
    memory_give(home);
}
