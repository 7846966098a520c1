#include "core/groups.h"

#include <assert.h>
#include <string.h>

#include "core/agents.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/listing.h"

struct group {
    enum group_kind kind;
    struct agent **members;
    size_t count;
    size_t capacity;
    size_t turn; // where the next choice begins, so that ties go in turn
    size_t name_bytes;
    char name[];
};

void groups_init(struct groups *groups, uint64_t seed, struct kept *kept) {
    groups->kept = kept;
    for (unsigned kind = 0; kind < GROUP_KINDS; kind++)
        names_init(&groups->by_name[kind], seed, kept);
}

void groups_deinit(struct groups *groups) {
    for (unsigned kind = 0; kind < GROUP_KINDS; kind++) {
        assert(groups->by_name[kind].count == 0);
        names_deinit(&groups->by_name[kind]);
    }
}

// --- One group

static struct group *named(const struct groups *groups, enum group_kind kind, const char *name,
                           size_t bytes) {
    return names_get(&groups->by_name[kind], name, bytes);
}

static struct group *make(struct groups *groups, enum group_kind kind, const char *name, size_t bytes) {
    struct group *group = kept_take_zeroed(groups->kept, 1, sizeof *group + bytes);
    if (!group)
        return NULL;
    group->kind = kind;
    group->name_bytes = bytes;
    memcpy(group->name, name, bytes);
    if (names_add(&groups->by_name[kind], group->name, bytes, group))
        return group;
    kept_give(groups->kept, group);
    return NULL;
}

static void drop_if_empty(struct groups *groups, struct group *group) {
    if (group->count)
        return;
    names_remove(&groups->by_name[group->kind], group->name, group->name_bytes);
    kept_give(groups->kept, group->members);
    kept_give(groups->kept, group);
}

static bool make_room(struct groups *groups, struct group *group, struct agent *agent) {
    struct group **joined =
        kept_resize(groups->kept, agent->groups, (agent->group_count + 1) * sizeof(struct group *));
    if (!joined)
        return false;
    agent->groups = joined;
    if (group->count < group->capacity)
        return true;
    size_t capacity = group->capacity ? group->capacity * 2 : 4;
    struct agent **members = kept_resize(groups->kept, group->members, capacity * sizeof(struct agent *));
    if (!members)
        return false;
    group->members = members;
    group->capacity = capacity;
    return true;
}

static bool join(struct groups *groups, struct agent *agent, enum group_kind kind, const char *name,
                 size_t bytes) {
    struct group *group = named(groups, kind, name, bytes);
    if (!group)
        group = make(groups, kind, name, bytes);
    if (!group)
        return false;
    // An agent joins all of its groups in one go: if it is a member already, it is the last.
    if (group->count && group->members[group->count - 1] == agent)
        return true;
    if (!make_room(groups, group, agent)) {
        drop_if_empty(groups, group);
        return false;
    }
    agent->groups[agent->group_count++] = group;
    group->members[group->count++] = agent;
    return true;
}

static void leave(struct groups *groups, struct group *group, const struct agent *agent) {
    size_t index = 0;
    while (group->members[index] != agent)
        index++;
    memmove(&group->members[index], &group->members[index + 1],
            (--group->count - index) * sizeof(struct agent *));
    drop_if_empty(groups, group);
}

// --- What capabilities say

// Joins the group that a string names.
static bool join_string(struct groups *groups, struct agent *agent, enum group_kind kind,
                        struct span string) {
    char name[METHOD_BYTES_MAX];
    size_t bytes = json_string_decode(agent->capabilities->text, string, name, sizeof name);
    return bytes == SIZE_MAX || join(groups, agent, kind, name, bytes);
}

// Joins a group for each name that is listed.
static bool join_listed(struct groups *groups, struct agent *agent, enum group_kind kind, struct span list) {
    struct listing listing;
    listing_begin(&listing, agent->capabilities->text, list);
    for (struct span name; listing_next(&listing, &name);)
        if (!join_string(groups, agent, kind, name))
            return false;
    return true;
}

bool groups_join(struct groups *groups, struct agent *agent) {
    static const struct {
        const char *member;
        enum group_kind kind;
        bool object; // an object lists too
    } lists[] = {
        {"methods", GROUP_METHOD, true}, {"tools", GROUP_TOOL, true}, {"tasks", GROUP_CAPABILITY, false}};
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
    return true;
}

void groups_leave(struct groups *groups, struct agent *agent) {
    for (size_t index = 0; index < agent->group_count; index++)
        leave(groups, agent->groups[index], agent);
    kept_give(groups->kept, agent->groups);
    agent->groups = NULL;
    agent->group_count = 0;
}

void groups_shrink(struct groups *groups) {
    for (unsigned kind = 0; kind < GROUP_KINDS; kind++)
        names_shrink(&groups->by_name[kind]);
}

// --- Asking

struct agent *const *groups_members(const struct groups *groups, enum group_kind kind, const char *name,
                                    size_t bytes, size_t *count) {
    const struct group *group = named(groups, kind, name, bytes);
    *count = group ? group->count : 0;
    return group ? group->members : NULL;
}

struct agent *groups_choose(struct groups *groups, enum group_kind kind, const char *name, size_t bytes,
                            uint64_t but, groups_load *load, const void *context) {
    struct group *group = named(groups, kind, name, bytes);
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
        if (best_load == 0) // there is none that owes less
            break;
    }
    if (best)
        group->turn = best_index + 1;
    return best;
}
