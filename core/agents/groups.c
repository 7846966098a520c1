#include "core/agents/groups.h"

#include <assert.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/limits.h"
#include "core/json/json.h"

enum {
    RESTING_LOAD = 1 << 30,
    SEVERAL = 16, // about the number of cache lines that a processor loads at a time
};

struct member {
    struct agent *agent; // NULL: the agent has left
    size_t membership;   // index in the agent's memberships
};

struct group {
    enum group_kind kind;
    struct member *members; // in the order in which they joined
    size_t count;           // number of members without gaps
    size_t used;            // length of `members` with gaps
    size_t capacity;
    size_t turn; // where the next choice begins, so that equal members take turns
    size_t name_bytes;
    char name[];
};

void groups_init(struct groups *groups, const struct siphash_key *key, struct quota *quota) {
    groups->quota = quota;
    for (unsigned kind = 0; kind < GROUP_KINDS; kind++)
        name_map_init(&groups->by_name[kind], key, quota);
}

void groups_deinit(struct groups *groups) {
    for (unsigned kind = 0; kind < GROUP_KINDS; kind++) {
        assert(groups->by_name[kind].count == 0);
        name_map_deinit(&groups->by_name[kind]);
    }
}

// --- One group

static struct group *groups_named(const struct groups *groups, enum group_kind kind, const char *name,
                                  size_t bytes) {
    assert(kind < GROUP_KINDS);
    return name_map_get(&groups->by_name[kind], name, bytes);
}

static struct group *groups_make(struct groups *groups, enum group_kind kind, const char *name,
                                 size_t bytes) {
    assert(bytes <= METHOD_BYTES_MAX);
    struct group *group = quota_take_zeroed(groups->quota, 1, sizeof *group + bytes);
    if (!group)
        return NULL;
    group->kind = kind;
    group->name_bytes = bytes;
    memcpy(group->name, name, bytes);
    if (name_map_add(&groups->by_name[kind], group->name, bytes, group))
        return group;
    quota_give(groups->quota, group);
    return NULL;
}

static void groups_drop_if_empty(struct groups *groups, struct group *group) {
    assert(group->count <= group->used && group->used <= group->capacity);
    if (group->count)
        return;
    name_map_remove(&groups->by_name[group->kind], group->name, group->name_bytes);
    quota_give(groups->quota, group->members);
    quota_give(groups->quota, group);
}

static bool groups_make_room(struct groups *groups, struct group *group, struct agent *agent) {
    assert(group->used <= group->capacity);
    struct membership *memberships =
        quota_resize(groups->quota, agent->memberships, (agent->membership_count + 1) * sizeof *memberships);
    if (!memberships)
        return false;
    agent->memberships = memberships;
    if (group->used < group->capacity)
        return true;
    size_t capacity = group->capacity ? group->capacity * 2 : 4;
    struct member *members = quota_resize(groups->quota, group->members, capacity * sizeof *members);
    if (!members)
        return false;
    group->members = members;
    group->capacity = capacity;
    return true;
}

static bool join_group(struct groups *groups, struct agent *agent, enum group_kind kind, const char *name,
                       size_t bytes) {
    struct group *group = groups_named(groups, kind, name, bytes);
    if (!group)
        group = groups_make(groups, kind, name, bytes);
    if (!group)
        return false;
    // An agent joins all of its groups in one go: if the agent is a member already, it is the last member.
    if (group->used && group->members[group->used - 1].agent == agent)
        return true;
    if (!groups_make_room(groups, group, agent)) {
        groups_drop_if_empty(groups, group);
        return false;
    }
    group->members[group->used] = (struct member){agent, agent->membership_count};
    agent->memberships[agent->membership_count++] = (struct membership){group, group->used++};
    group->count++;
    assert(group->count <= group->used && group->used <= group->capacity);
    return true;
}

// Removes the gaps of agents that have left.
static void close_gaps(struct group *group) {
    size_t to = 0, turn = 0;
    for (size_t from = 0; from < group->used; from++) {
        struct member member = group->members[from];
        if (!member.agent)
            continue;
        member.agent->memberships[member.membership].at = to;
        group->members[to++] = member;
        turn += from < group->turn;
    }
    assert(to == group->count && turn <= to);
    group->used = to;
    group->turn = turn;
}

// Removes a member. The member's place stays as a gap, until there are more gaps than members. So leaving a large group
// costs no more than leaving a small one, and the other members keep their order and turn.
static void leave_group(struct groups *groups, const struct membership *membership) {
    struct group *group = membership->group;
    assert(group->count > 0 && membership->at < group->used && group->members[membership->at].agent);
    group->members[membership->at].agent = NULL;
    group->count--;
    if (group->used - group->count > group->count)
        close_gaps(group);
    groups_drop_if_empty(groups, group);
}

// --- Groups that capabilities list

// Joins the group with the name in a JSON string.
static bool join_string(struct groups *groups, struct agent *agent, enum group_kind kind, const uint8_t *text,
                        struct span string) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = json_string_decode(text, string, name, sizeof name);
    return bytes == SIZE_MAX || join_group(groups, agent, kind, name, bytes);
}

// Names that are looked up together, so that their cache lines load in parallel.
struct several {
    unsigned count;
    size_t bytes[SEVERAL];
    char names[SEVERAL][METHOD_BYTES_MAX];
};

static void groups_expect(const struct name_map *map, const struct several *several) {
    uint64_t hashes[SEVERAL];
    assert(several->count <= SEVERAL);
    for (unsigned index = 0; index < several->count; index++)
        hashes[index] = name_map_expect(map, several->names[index], several->bytes[index]);
    for (unsigned index = 0; index < several->count; index++)
        name_map_expect_key(map, hashes[index]);
}

static bool join_several(struct groups *groups, struct agent *agent, enum group_kind kind,
                         struct several *several) {
    groups_expect(&groups->by_name[kind], several);
    for (unsigned index = 0; index < several->count; index++)
        if (!join_group(groups, agent, kind, several->names[index], several->bytes[index]))
            return false;
    several->count = 0;
    return true;
}

// Joins a group for each name in a list.
static bool join_listed(struct groups *groups, struct agent *agent, enum group_kind kind, struct span list) {
    const uint8_t *text = agent->capabilities->text;
    struct name_list listing;
    struct several several; // not initialised as a whole: it is large
    several.count = 0;
    name_list_begin(&listing, text, list);
    for (struct span name; name_list_next(&listing, &name);) {
        size_t bytes = json_string_decode(text, name, several.names[several.count], METHOD_BYTES_MAX);
        if (bytes == SIZE_MAX)
            continue;
        several.bytes[several.count++] = bytes;
        if (several.count == SEVERAL && !join_several(groups, agent, kind, &several))
            return false;
    }
    return join_several(groups, agent, kind, &several);
}

// Joins a group for each notification that an object with a `name` lists. A name that was listed before may not be the
// agent's last group.
static bool join_notices(struct groups *groups, struct agent *agent, struct json_item events) {
    const uint8_t *text = agent->capabilities->text;
    struct json_walk walk;
    if (events.type != JSON_ARRAY)
        return true;
    json_walk_begin(&walk, text, events.value);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        struct json_item name = {0};
        if (item.type == JSON_OBJECT)
            name = json_member(text, item.value, "name");
        if (name.type == JSON_STRING && name.value.bytes > 2 &&
            !join_string(groups, agent, GROUP_NOTICE, text, name.value))
            return false;
    }
    return true;
}

// Joins a group for the command of each button. `buttons` is an array of objects.
static bool join_buttons(struct groups *groups, struct agent *agent, const uint8_t *text,
                         struct json_item buttons) {
    struct json_walk walk;
    if (buttons.type != JSON_ARRAY)
        return true;
    json_walk_begin(&walk, text, buttons.value);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        struct json_item command = {0};
        if (item.type == JSON_OBJECT)
            command = json_member(text, item.value, "command");
        if (command.type == JSON_STRING && command.value.bytes > 2 &&
            !join_string(groups, agent, GROUP_COMMAND, text, command.value))
            return false;
    }
    return true;
}

// Joins the groups of a child: its pool, and the groups of its answer to initialize.
static bool join_as_child(struct groups *groups, struct agent *agent) {
    if (agent->pool_bytes && !agent->absent &&
        !join_group(groups, agent, GROUP_POOL, agent->id, agent->pool_bytes))
        return false;
    static const char closed[] = "window/closed";
    const uint8_t *text = agent->capabilities->text;
    struct json_item buttons = json_member(text, capabilities_span(agent->capabilities), "toolbarButtons");
    if (!agent->hermes)
        return true;
    if (!join_group(groups, agent, GROUP_NOTICE, closed, sizeof closed - 1) ||
        !join_buttons(groups, agent, text, buttons))
        return false;
    if (!agent->initialize_result)
        return true;
    text = agent->initialize_result->text;
    return join_buttons(groups, agent, text,
                        json_member(text, capabilities_span(agent->initialize_result), "toolbarButtons"));
}

bool groups_join(struct groups *groups, struct agent *agent) {
    assert(agent->membership_count == 0);
    static const struct {
        const char *member;
        enum group_kind kind;
        bool object; // an object lists names, too
    } lists[] = {{"methods", GROUP_METHOD, true},
                 {"tools", GROUP_TOOL, true},
                 {"commands", GROUP_COMMAND, true},
                 {"tasks", GROUP_CAPABILITY, false}};
    const uint8_t *text = agent->capabilities->text;
    struct span all = capabilities_span(agent->capabilities);
    if (!join_listed(groups, agent, GROUP_CAPABILITY, all))
        return false;
    for (size_t index = 0; index < sizeof lists / sizeof *lists; index++) {
        struct json_item list = json_member(text, all, lists[index].member);
        bool listing = list.type == JSON_ARRAY || (list.type == JSON_OBJECT && lists[index].object);
        if (listing && !join_listed(groups, agent, lists[index].kind, list.value))
            return false;
    }
    return join_notices(groups, agent, json_member(text, all, "events")) && join_as_child(groups, agent);
}

void groups_leave(struct groups *groups, struct agent *agent) {
    assert(agent->memberships || agent->membership_count == 0);
    for (size_t index = 0; index < agent->membership_count; index++)
        leave_group(groups, &agent->memberships[index]);
    quota_give(groups->quota, agent->memberships);
    agent->memberships = NULL;
    agent->membership_count = 0;
}

void groups_shrink(struct groups *groups) {
    for (unsigned kind = 0; kind < GROUP_KINDS; kind++)
        name_map_shrink(&groups->by_name[kind]);
}

// --- Look-ups

const char *membership_name(const struct membership *membership, enum group_kind *kind, size_t *bytes) {
    assert(membership->group && membership->group->count > 0);
    *kind = membership->group->kind;
    *bytes = membership->group->name_bytes;
    return membership->group->name;
}

const struct group *groups_find(const struct groups *groups, enum group_kind kind, const char *name,
                                size_t bytes) {
    return groups_named(groups, kind, name, bytes);
}

struct agent *group_next(const struct group *group, size_t *at) {
    assert(*at <= group->used);
    struct agent *agent = NULL;
    while (!agent && *at < group->used)
        agent = group->members[(*at)++].agent;
    return agent;
}

struct agent *groups_choose(struct groups *groups, enum group_kind kind, const char *name, size_t bytes,
                            const struct wanted_member *wanted, groups_load *load, const void *context) {
    assert(wanted->level < GOVERNANCE_COUNT);
    struct group *group = groups_named(groups, kind, name, bytes);
    struct agent *best = NULL, *nearest = NULL;
    uint32_t best_load = UINT32_MAX;
    size_t best_index = 0;
    for (size_t step = 0; group && step < group->used; step++) {
        size_t index = (group->turn + step) % group->used;
        struct agent *agent = group->members[index].agent;
        if (!agent || agent->registrant->connection == wanted->excluded_connection ||
            (wanted->is_remote && agent->local_only) ||
            (wanted->may_reach && !wanted->may_reach(wanted->may_reach_context, agent)))
            continue;
        if (agent->governance < wanted->level) {
            if (!nearest || agent->governance > nearest->governance)
                nearest = agent;
            continue;
        }
        assert(agent->memberships[group->members[index].membership].group == group);
        uint32_t pending = load(context, agent->registrant->connection);
        if (agent->resting) // a running child comes first
            pending += RESTING_LOAD;
        if (!best || pending < best_load) {
            best = agent;
            best_load = pending;
            best_index = index;
        }
        if (best_load == 0) // no member can have fewer
            break;
    }
    if (best)
        group->turn = best_index + 1;
    return best ? best : nearest;
}
