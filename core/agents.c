#include "core/agents.h"

#include <assert.h>
#include <string.h>

#include "core/json.h"
#include "core/limits.h"
#include "core/memory.h"

void agents_init(struct agents *agents, uint64_t seed) {
    *agents = (struct agents){0};
    names_init(&agents->by_id, seed);
    names_init(&agents->methods, seed);
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
    names_deinit(&agents->methods);
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

// --- Groups

static void group_leave(struct agents *agents, struct group *group, const struct agent *agent) {
    size_t index = 0;
    while (group->members[index] != agent)
        index++;
    memmove(&group->members[index], &group->members[index + 1],
            (--group->count - index) * sizeof(struct agent *));
    if (group->count)
        return;
    names_remove(&agents->methods, group->name, group->name_bytes);
    memory_give(group->members);
    memory_give(group);
}

static struct group *group_named(struct agents *agents, const char *name, size_t name_bytes) {
    struct group *group = names_get(&agents->methods, name, name_bytes);
    if (group)
        return group;
    group = memory_take_zeroed(1, sizeof *group + name_bytes);
    if (!group)
        return NULL;
    group->name_bytes = name_bytes;
    memcpy(group->name, name, name_bytes);
    if (names_add(&agents->methods, group->name, name_bytes, group))
        return group;
    memory_give(group);
    return NULL;
}

static bool group_is_member(const struct agent *agent, const struct group *group) {
    for (size_t index = 0; index < agent->group_count; index++)
        if (agent->groups[index] == group)
            return true;
    return false;
}

static bool group_join(struct agents *agents, struct agent *agent, const char *name, size_t name_bytes) {
    struct group *group = group_named(agents, name, name_bytes);
    if (!group)
        return false;
    if (group_is_member(agent, group))
        return true;
    if (group->count == group->capacity) {
        size_t capacity = group->capacity ? group->capacity * 2 : 4;
        struct agent **members = memory_resize(group->members, capacity * sizeof(struct agent *));
        if (members) {
            group->members = members;
            group->capacity = capacity;
        }
    }
    struct group **groups = memory_resize(agent->groups, (agent->group_count + 1) * sizeof(struct group *));
    if (groups)
        agent->groups = groups;
    if (!groups || group->count == group->capacity) {
        if (group->count == 0) { // made just now
            names_remove(&agents->methods, group->name, group->name_bytes);
            memory_give(group->members);
            memory_give(group);
        }
        return false;
    }
    agent->groups[agent->group_count++] = group;
    group->members[group->count++] = agent;
    return true;
}

static void leave_groups(struct agents *agents, struct agent *agent) {
    for (size_t index = 0; index < agent->group_count; index++)
        group_leave(agents, agent->groups[index], agent);
    memory_give(agent->groups);
    agent->groups = NULL;
    agent->group_count = 0;
}

static bool truthy(const uint8_t *text, const struct json_item *item) {
    uint64_t number = 1;
    switch (item->type) {
    case JSON_NONE:
    case JSON_FALSE:
    case JSON_NULL:
        return false;
    case JSON_STRING:
        return item->value.bytes > 2;
    case JSON_NUMBER:
        return text[item->value.at] == '-' || !json_number_whole(text, item->value, &number) || number != 0;
    default:
        return true;
    }
}

// Joins the group that a string names. Names longer than a method's can be can't be asked for and are passed
// over.
static bool join_named(struct agents *agents, struct agent *agent, struct span string) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = json_string_decode((const uint8_t *)agent->capabilities, string, name, sizeof name);
    return bytes == SIZE_MAX || group_join(agents, agent, name, bytes);
}

// Joins the group of each method that capabilities.methods lists: the strings of an array, or the members of
// an object that are true in the sense of agents_capable.
static bool join_groups(struct agents *agents, struct agent *agent) {
    const uint8_t *text = (const uint8_t *)agent->capabilities;
    struct json_item methods =
        json_member(text, (struct span){0, (uint32_t)agent->capabilities_bytes}, "methods");
    if (methods.type != JSON_ARRAY && methods.type != JSON_OBJECT)
        return true;
    struct json_walk walk;
    json_walk_begin(&walk, text, methods.value);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        bool listed = methods.type == JSON_ARRAY ? item.type == JSON_STRING : truthy(text, &item);
        if (listed && !join_named(agents, agent, methods.type == JSON_ARRAY ? item.value : item.key))
            return false;
    }
    return true;
}

// --- Agents

static void agent_free(struct agent *agent) {
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
    leave_groups(agents, agent);
    names_remove(&agents->by_id, agent->id, agent->id_bytes);
    list_remove(&agent->by_home);
    list_remove(&agent->link);
    agents->count--;
}

static bool link_agent(struct agents *agents, struct agent *agent, struct home *home) {
    if (!names_add(&agents->by_id, agent->id, agent->id_bytes, agent))
        return false;
    agent->home = home;
    list_append(&home->agents, &agent->by_home);
    list_append(&agents->all, &agent->link);
    agents->count++;
    if (join_groups(agents, agent))
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

// The new one is whole before the old one goes; if the new one can't be linked, the old one is put back, for
// which the memory is there since it has just been given back.
struct agent *agents_put(struct agents *agents, const struct agent_offer *offer) {
    struct agent *agent = agent_make(offer);
    struct home *home = agent ? home_at(agents, offer->connection) : NULL;
    if (!home) {
        if (agent)
            agent_free(agent);
        return NULL;
    }
    struct agent *old = agents_find(agents, offer->id, offer->id_bytes);
    assert(!old || old->home == home);
    if (old) {
        agent->connected_since_ms = old->connected_since_ms;
        unlink_agent(agents, old);
    }
    if (link_agent(agents, agent, home)) {
        if (old)
            agent_free(old);
        return agent;
    }
    agent_free(agent);
    if (old && !link_agent(agents, old, home))
        agent_free(old);
    drop_home_if_idle(home);
    return NULL;
}

void agents_remove(struct agents *agents, struct agent *agent) {
    unlink_agent(agents, agent);
    agent_free(agent);
}

void agents_remove_home(struct agents *agents, struct home *home) {
    assert(list_empty(&home->pending));
    while (!list_empty(&home->agents))
        agents_remove(agents, list_entry(home->agents.next, struct agent, by_home));
    list_remove(&home->link);
    memory_give(home);
}

struct agent *agents_choose(struct agents *agents, const char *method, size_t method_bytes, uint64_t but,
                            agents_load *load, const void *context) {
    struct group *group = names_get(&agents->methods, method, method_bytes);
    struct agent *best = NULL;
    uint32_t best_load = UINT32_MAX;
    size_t best_index = 0;
    for (size_t step = 0; group && step < group->count; step++) {
        size_t index = (group->turn + step) % group->count;
        struct agent *agent = group->members[index];
        if (agent->home->connection == but)
            continue;
        uint32_t owed = load(context, agent->home->connection);
        if (!best || owed < best_load) {
            best = agent;
            best_load = owed;
            best_index = index;
        }
    }
    if (best)
        group->turn = best_index + 1;
    return best;
}

// --- Capabilities

static bool lists(const uint8_t *text, struct span array, const char *name) {
    struct json_walk walk;
    json_walk_begin(&walk, text, array);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (item.type == JSON_STRING && json_string_is(text, item.value, name))
            return true;
    return false;
}

bool agents_capable(const struct agent *agent, const char *name) {
    const uint8_t *text = (const uint8_t *)agent->capabilities;
    struct span all = {0, (uint32_t)agent->capabilities_bytes};
    if (text[0] == '[')
        return lists(text, all, name);
    struct json_item member = json_member(text, all, name);
    struct json_item tasks = json_member(text, all, "tasks");
    return truthy(text, &member) || (tasks.type == JSON_ARRAY && lists(text, tasks.value, name));
}
