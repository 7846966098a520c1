// Groups of agents that offer the same thing, read from their capabilities when they register.
//
// A group is there as long as it has members. Names longer than METHOD_BYTES_MAX can't be asked for and make
// none.
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
    size_t at; // among its members
};

// Kinds of groups: features that agents can have in common.
enum group_kind {
    GROUP_METHOD, // `methods` lists it: an element of an array, or a member of an object that isn't false,
                  // null, 0 or ""
    GROUP_CAPABILITY, // likewise in the capabilities themselves, or an element of their `tasks`
    GROUP_TOOL,       // `tools` lists it
    GROUP_COMMAND,    // `commands` lists it
    GROUP_POOL,       // it is one of the instances of this child
    GROUP_NOTICE,     // an element of the array `events` is an object of which it is the `name`
    GROUP_KINDS,
};

struct groups {
    struct name_map by_name[GROUP_KINDS]; // name → struct group
    struct quota *quota;                  // the account that they are kept on
};

void groups_init(struct groups *groups, const struct siphash_key *key, struct quota *quota);
// Every agent must have left.
void groups_deinit(struct groups *groups);

// Makes an agent a member of all groups that its capabilities name. False when memory, or the bound of what
// is kept, is used up: it may then be a member of some.
bool groups_join(struct groups *groups, struct agent *agent);
void groups_leave(struct groups *groups, struct agent *agent);
// Gives back what the tables of names don't need any more.
void groups_shrink(struct groups *groups);
// The group of this name, until an agent joins or leaves; NULL: there is none.
const struct group *groups_find(const struct groups *groups, enum group_kind kind, const char *name,
                                size_t bytes);
// Returns the next member, longest there first, and NULL at the end; *at begins as 0.
struct agent *group_next(const struct group *group, size_t *at);

// The name of a group that an agent is a member of, and its kind; not terminated.
const char *membership_name(const struct membership *membership, enum group_kind *kind, size_t *bytes);

// How many requests a connection's agents owe, over all shards.
typedef uint32_t groups_load(const void *context, uint64_t connection);
// Whether whoever asks may reach an agent. NULL in place of such a function: it may reach all.
typedef bool groups_reaches(const void *context, const struct agent *agent);
// The members that are asked for: members that aren't on the connection `but`, may be reached, and support
// the level.
struct wanted_member {
    uint64_t but;
    enum governance level;
    bool from_elsewhere; // by who is at another hub, for whom not all are
    groups_reaches *reaches;
    const void *reaching; // its context
};
// The one of those that owes least, ties in turn. If none supports the level, the one that comes nearest to
// it; NULL when there is none at all.
struct agent *groups_choose(struct groups *groups, enum group_kind kind, const char *name, size_t bytes,
                            const struct wanted_member *wanted, groups_load *load, const void *context);
