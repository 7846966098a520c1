// Groups: agents that offer the same method, capability, tool and so on, as read from their capabilities when they
// register.
//
// A group exists as long as it has members. A name longer than METHOD_BYTES_MAX makes no group, since no message can
// name it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents/name_map.h"
#include "core/base/governance.h"

struct agent;
struct group;

struct membership {
    struct group *group;
    size_t at; // the index among its members
};

// What the members of a group have in common.
enum group_kind {
    GROUP_METHOD, // a name in `methods`: an element of an array, or a member of an object that isn't false,
                  // null, 0 or ""
    GROUP_CAPABILITY, // likewise a name in the capabilities themselves, or an element of `tasks`
    GROUP_TOOL,       // a name in `tools`
    GROUP_COMMAND,    // a name in `commands`
    GROUP_POOL,       // the instances of a child
    GROUP_NOTICE,     // the `name` of an object in the array `events`
    GROUP_KINDS,
};

struct groups {
    struct name_map by_name[GROUP_KINDS]; // name → struct group
    struct quota *quota;                  // the quota of the groups
};

void groups_init(struct groups *groups, const struct siphash_key *key, struct quota *quota);
// Frees the groups. Every agent must have left.
void groups_deinit(struct groups *groups);

// Makes an agent a member of all groups that its capabilities name. Returns false without memory or quota: the agent
// may then be a member of some.
bool groups_join(struct groups *groups, struct agent *agent);
void groups_leave(struct groups *groups, struct agent *agent);
// Gives back unused memory of the tables of names.
void groups_shrink(struct groups *groups);
// Returns the group of this name, valid until an agent joins or leaves; NULL: there is none.
const struct group *groups_find(const struct groups *groups, enum group_kind kind, const char *name,
                                size_t bytes);
// Returns the next member, longest there first, and NULL at the end; *at begins as 0.
struct agent *group_next(const struct group *group, size_t *at);

// Returns the name and kind of the group of a membership. The name isn't terminated.
const char *membership_name(const struct membership *membership, enum group_kind *kind, size_t *bytes);

// Returns how many requests a connection must answer, over all shards.
typedef uint32_t groups_load(const void *context, uint64_t connection);
// Returns whether the source may reach an agent. NULL in place of such a function: the source may reach all agents.
typedef bool groups_may_reach(const void *context, const struct agent *agent);
// Which members of a group are wanted: not on `excluded_connection`, in reach, and supporting the level.
struct wanted_member {
    uint64_t excluded_connection;
    enum governance level;
    bool is_remote; // another hub asks, so members with local_only are left out
    groups_may_reach *may_reach;
    const void *may_reach_context; // the context of `may_reach`
};
// Returns the wanted member with the fewest pending requests, ties in turn. If no member supports the level, returns
// the member with the highest level. NULL: there is no member.
struct agent *groups_choose(struct groups *groups, enum group_kind kind, const char *name, size_t bytes,
                            const struct wanted_member *wanted, groups_load *load, const void *context);
