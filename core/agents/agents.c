#include "core/agents/agents.h"

#include <assert.h>
#include <string.h>

#include "core/base/limits.h"

void agents_init(struct agents *agents, const struct siphash_key *key, struct quota *quota) {
    *agents = (struct agents){.quota = quota, .multiplier = siphash_table(key, "registrants", 5) | 1};
    name_map_init(&agents->by_id, key, quota);
    groups_init(&agents->groups, key, quota);
    topics_init(&agents->topics, key, quota);
    list_init(&agents->all);
    for (size_t chain = 0; chain < REGISTRANT_CHAINS; chain++)
        list_init(&agents->registrants[chain]);
}

void agents_deinit(struct agents *agents) {
    while (!list_empty(&agents->all)) {
        struct agent *agent = list_entry(agents->all.next, struct agent, link);
        agents_remove_registrant(agents, agent->registrant);
    }
    assert(agents->count == 0 && agents->by_id.count == 0);
    name_map_deinit(&agents->by_id);
    groups_deinit(&agents->groups);
    topics_deinit(&agents->topics);
}

struct agent *agents_find(const struct agents *agents, const char *id, size_t id_bytes) {
    return name_map_get(&agents->by_id, id, id_bytes);
}

// --- The agents that were found last

enum { FOUND_ID_BYTES_MIN = 4 }; // shorter ids aren't remembered

// Returns the last bytes of an id, where most ids differ; all bytes of a short id.
static inline uint64_t end_of(const char *id, size_t id_bytes) {
    uint64_t end;
    uint32_t halves[2];
    assert(id_bytes >= sizeof halves[0]);
    if (id_bytes >= sizeof end) {
        memcpy(&end, id + id_bytes - sizeof end, sizeof end);
        return end;
    }
    memcpy(&halves[0], id, sizeof halves[0]);
    memcpy(&halves[1], id + id_bytes - sizeof halves[1], sizeof halves[1]);
    return halves[0] | (uint64_t)halves[1] << 32;
}

static inline struct agent_found *found_place(struct agents *agents, uint64_t end) {
    assert(agents->multiplier & 1);
    return &agents->found[(end * agents->multiplier) >> (64 - FOUND_BITS)];
}

static inline struct agent_missed *missed_place(struct agents *agents, uint64_t end) {
    assert(agents->multiplier & 1);
    return &agents->missed[(end * agents->multiplier) >> (64 - MISSED_BITS)];
}

static struct agent *find_slow(struct agents *agents, const char *id, size_t id_bytes, uint64_t end) {
    struct agent *agent = agents_find(agents, id, id_bytes);
    struct agent_missed *missed = missed_place(agents, end);
    if (agent) {
        *found_place(agents, end) = (struct agent_found){agent, end};
    } else if (id_bytes <= sizeof missed->id) {
        missed->changes = agents->changes;
        missed->id_bytes = (uint32_t)id_bytes;
        memcpy(missed->id, id, id_bytes);
    }
    return agent;
}

static void found_forget(struct agents *agents, const struct agent *agent) {
    if (agent->id_bytes < FOUND_ID_BYTES_MIN)
        return;
    struct agent_found *place = found_place(agents, end_of(agent->id, agent->id_bytes));
    if (place->agent == agent)
        *place = (struct agent_found){0};
}

struct agent *agents_find_again(struct agents *agents, const char *id, size_t id_bytes) {
    if (id_bytes < FOUND_ID_BYTES_MIN)
        return agents_find(agents, id, id_bytes);
    uint64_t end = end_of(id, id_bytes);
    struct agent_found *place = found_place(agents, end);
    if (place->agent && place->end == end && place->agent->id_bytes == id_bytes &&
        memcmp(place->agent->id, id, id_bytes) == 0)
        return place->agent;
    const struct agent_missed *missed = missed_place(agents, end);
    if (missed->id_bytes == id_bytes && missed->changes == agents->changes &&
        memcmp(missed->id, id, id_bytes) == 0)
        return NULL;
    return find_slow(agents, id, id_bytes, end);
}

// --- Homes

// Returns the chain of a connection's registrant: the top bits of the product with a secret odd number. A peer that
// reconnects until it gets a certain number can't know which connections share a chain (Dietzfelbinger and others,
// 1997).
static struct list *agents_bucket_of(struct agents *agents, uint64_t connection) {
    assert(agents->multiplier & 1);
    return &agents->registrants[(connection * agents->multiplier) >> (64 - REGISTRANT_CHAIN_BITS)];
}

struct registrant *agents_registrant(struct agents *agents, uint64_t connection) {
    struct list *bucket = agents_bucket_of(agents, connection);
    for (struct list *node = bucket->next; node != bucket; node = node->next) {
        struct registrant *registrant = list_entry(node, struct registrant, link);
        if (registrant->connection == connection)
            return registrant;
    }
    return NULL;
}

const struct agent *agents_one_at(struct agents *agents, uint64_t connection) {
    const struct registrant *registrant = agents_registrant(agents, connection);
    return registrant && !list_empty(&registrant->agents)
               ? list_entry(registrant->agents.next, struct agent, by_registrant)
               : NULL;
}

static struct registrant *registrant_at(struct agents *agents, uint64_t connection) {
    struct registrant *registrant = agents_registrant(agents, connection);
    if (registrant)
        return registrant;
    registrant = quota_take(agents->quota, sizeof *registrant);
    if (!registrant)
        return NULL;
    registrant->quota_bytes = registrant->told = 0;
    registrant->leaving = false;
    registrant->connection = connection;
    list_init(&registrant->agents);
    list_init(&registrant->pending);
    list_init(&registrant->streams);
    list_append(agents_bucket_of(agents, connection), &registrant->link);
    return registrant;
}

// --- Agents

static void agent_free(struct agents *agents, struct agent *agent) {
    assert(list_empty(&agent->by_registrant) && list_empty(&agent->link));
    topics_leave(&agents->topics, agent);
    groups_leave(&agents->groups, agent);
    capabilities_drop(agents->quota, agent->capabilities);
    capabilities_drop(agents->quota, agent->initialize_result);
    latency_leave(agents->quota, agent->latency, agents->shard);
    quota_give(agents->quota, agent);
}

static uint32_t tag_of(const struct agents *agents, const struct agent_profile *profile) {
    uint64_t hash = siphash_table(&agents->by_id.hash_key, profile->id, profile->id_bytes);
    return (uint32_t)(hash >> (64 - AGENT_TAG_BITS)) | 1;
}

static struct agent *agent_make(struct agents *agents, const struct agent_profile *profile) {
    assert(profile->id_bytes > 0 && profile->id_bytes <= AGENT_ID_BYTES_MAX);
    struct agent *agent = quota_take_zeroed(agents->quota, 1, sizeof *agent + profile->id_bytes);
    if (!agent)
        return NULL;
    agent->capabilities = capabilities_hold(profile->capabilities);
    agent->latency = profile->latency ? latency_hold(profile->latency) : NULL;
    agent->governance = profile->governance;
    agent->child = profile->child;
    agent->owner = profile->owner;
    agent->initialize_result = profile->answer ? capabilities_hold(profile->answer) : NULL;
    agent->pool_bytes = profile->pool_bytes;
    agent->hermes = profile->hermes;
    agent->resting = profile->resting;
    agent->absent = profile->absent;
    agent->local_only = profile->local_only;
    agent->serial = profile->serial;
    agent->connected_since_ms = profile->connected_since_ms;
    agent->held_since_ms = profile->held_since_ms;
    agent->id_bytes = profile->id_bytes;
    memcpy(agent->id, profile->id, profile->id_bytes);
    agent->tag = tag_of(agents, profile);
    list_init(&agent->by_registrant);
    list_init(&agent->link);
    return agent;
}

// Removes an agent from the table, and frees the agent.
static void agents_take_out(struct agents *agents, struct agent *agent) {
    assert(agents->count > 0 && agent->registrant->quota_bytes >= agent->quota_bytes);
    list_remove(&agent->by_registrant);
    list_remove(&agent->link);
    agent->registrant->quota_bytes -= agent->quota_bytes;
    if (agent->holder)
        quota_shares_give(agents->shares, agent->holder, agent->quota_bytes);
    agents->count--;
    agents->changes++;
    found_forget(agents, agent);
    agent_free(agents, agent);
}

// Gives back memory that the tables don't need any more.
static void shrink(struct agents *agents) {
    name_map_shrink(&agents->by_id);
    groups_shrink(&agents->groups);
}

static void drop_registrant_if_idle(struct agents *agents, struct registrant *registrant) {
    if (!list_empty(&registrant->agents) || !list_empty(&registrant->pending) ||
        !list_empty(&registrant->streams))
        return;
    assert(registrant->quota_bytes == 0);
    list_remove(&registrant->link);
    quota_give(agents->quota, registrant);
}

// Keeps a child's state when the child's agent registers again with other capabilities.
static void keep_child(struct agent *agent, struct agent *old) {
    if (agent->child || !old->child)
        return;
    agent->child = old->child;
    agent->pool_bytes = old->pool_bytes;
    agent->hermes = old->hermes;
    agent->resting = old->resting;
    agent->local_only = old->local_only;
    agent->initialize_result = old->initialize_result;
    old->initialize_result = NULL;
}

// Keeps an agent's latencies when the agent registers again.
static void keep_latency(struct agent *agent, struct agent *old) {
    struct latency *fresh = agent->latency;
    if (!old->latency)
        return;
    agent->latency = old->latency;
    old->latency = fresh;
}

// Puts an agent into the table, in the place of `old` if that isn't NULL. The table has room for the id.
static void take_place(struct agents *agents, struct agent *agent, struct agent *old) {
    assert(agent->registrant && agent != old);
    if (old && old->registrant == agent->registrant) {
        agent->connected_since_ms = old->connected_since_ms;
        agent->held_since_ms = old->held_since_ms;
        agent->told = old->told;
        keep_latency(agent, old);
        keep_child(agent, old);
    }
    if (old) {
        name_map_replace(&agents->by_id, agent->id, agent->id_bytes, agent);
        agents_take_out(agents, old);
    } else {
        name_map_add(&agents->by_id, agent->id, agent->id_bytes, agent);
    }
    list_append(&agent->registrant->agents, &agent->by_registrant);
    list_append(&agents->all, &agent->link);
    agent->registrant->quota_bytes += agent->quota_bytes;
    agents->count++;
    agents->changes++;
    assert(agents->count == agents->by_id.count);
}

// Counts the agent's memory for its holder, unless the holder would then have more than half of the quota. While an
// agent replaces one of the same holder, both count. Without a users file an address may have many programs. So a
// connection with little memory isn't refused because of other connections.
static bool count_share(struct agents *agents, struct agent *agent, const struct agent *old,
                        const struct agent_profile *profile, uint64_t registrant_bytes) {
    bool is_little = !profile->owner && registrant_bytes <= agents->quota->little_bytes;
    uint64_t max = is_little ? UINT64_MAX / 2 : quota_bytes_max(agents->quota) / 2, holder = profile->holder;
    if (!agents->shares || !holder)
        return true;
    if (old && old->holder == holder)
        max += old->quota_bytes;
    if (!quota_shares_take(agents->shares, holder, agent->quota_bytes, max)) {
        agents->beyond++;
        return false;
    }
    agent->holder = holder;
    return true;
}

static void uncount_share(struct agents *agents, struct agent *agent) {
    if (agent->holder)
        quota_shares_give(agents->shares, agent->holder, agent->quota_bytes);
    agent->holder = 0;
}

// Returns whether the connection and the holder may have the agent's memory. The later shards will take the same memory
// as this shard, so their part is set aside now.
static bool is_within_bounds(struct agents *agents, struct agent *agent, const struct agent *old,
                             const struct agent_profile *profile, int64_t taken) {
    assert(profile->judged_for > 0 && profile->set_aside);
    uint64_t here = taken > 0 ? (uint64_t)taken : 0, others = here * (profile->judged_for - 1);
    agent->quota_bytes = here + others + agent->capabilities->bytes;
    uint64_t registrant_bytes = agent->registrant->quota_bytes + agent->quota_bytes;
    if (old && old->registrant == agent->registrant)
        registrant_bytes -= old->quota_bytes;
    assert(registrant_bytes >= agent->quota_bytes); // `old` counted for this registrant
    if (!count_share(agents, agent, old, profile, registrant_bytes + others) ||
        !quota_is_fair(agents->quota, registrant_bytes + others) || !quota_set_aside(agents->quota, others)) {
        uncount_share(agents, agent);
        agents->quota->refused++;
        return false;
    }
    *profile->set_aside = others;
    return true;
}

// Adds a new agent to topics and groups, and reserves room for its id. Returns false without memory, or beyond a bound.
static bool fill(struct agents *agents, struct agent *agent, struct agent *old,
                 const struct agent_profile *profile, int64_t before) {
    if (!topics_join(&agents->topics, agent, profile->subscriber) || !groups_join(&agents->groups, agent) ||
        (!old && !name_map_reserve(&agents->by_id, agent->id, agent->id_bytes)))
        return false;
    return !profile->judged_for ||
           is_within_bounds(agents, agent, old, profile, agents->quota->used - before);
}

// Completes the new agent before the old agent is removed: a subscription or group that both list stays. Without memory
// for the new agent the old agent stays unchanged.
struct agent *agents_put(struct agents *agents, const struct agent_profile *profile) {
    assert(profile->capabilities && profile->governance < GOVERNANCE_COUNT);
    int64_t before = agents->quota->used;
    struct agent *agent = agent_make(agents, profile);
    if (!agent)
        return NULL;
    agent->registrant = registrant_at(agents, profile->connection);
    struct agent *old = agents_find(agents, profile->id, profile->id_bytes);
    if (agent->registrant && fill(agents, agent, old, profile, before)) {
        take_place(agents, agent, old);
        return agent;
    }
    struct registrant *registrant = agent->registrant;
    agent_free(agents, agent);
    if (registrant)
        drop_registrant_if_idle(agents, registrant);
    shrink(agents);
    return NULL;
}

void agents_remove(struct agents *agents, struct agent *agent) {
    assert(agents_find(agents, agent->id, agent->id_bytes) == agent);
    name_map_remove(&agents->by_id, agent->id, agent->id_bytes);
    agents_take_out(agents, agent);
    shrink(agents);
}

void agents_silence_registrant(struct agents *agents, struct registrant *registrant) {
    for (struct list *node = registrant->agents.next; node != &registrant->agents; node = node->next)
        topics_leave(&agents->topics, list_entry(node, struct agent, by_registrant));
}

void agents_remove_registrant(struct agents *agents, struct registrant *registrant) {
    assert(list_empty(&registrant->pending) && list_empty(&registrant->streams) &&
           agents_registrant(agents, registrant->connection) == registrant);
    while (!list_empty(&registrant->agents))
        agents_remove(agents, list_entry(registrant->agents.next, struct agent, by_registrant));
    assert(registrant->quota_bytes == 0);
    list_remove(&registrant->link);
    quota_give(agents->quota, registrant);
}
