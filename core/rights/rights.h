// Judges what a user may do, by names alone: whether an agent bears them isn't known here. Every judgement is
// a few binary searches, takes no memory, and tells which line of the file decided.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/rights/users.h"

// The values of `data.rule` of a refusal (-32001).
enum rule {
    RULE_REGISTER,
    RULE_OFFER,
    RULE_CALL,
    RULE_PUBLISH,
    RULE_SUBSCRIBE,
    RULE_LEVEL,
    RULE_ADMIN,
    RULE_SOURCE_AGENT,
    RULE_CREDENTIAL,
    RULE_OWN,
    RULES_COUNT
};
const char *rule_text(enum rule rule); // static

struct verdict {
    bool allowed;
    uint32_t line; // that gives or denies it; 0: no line does
};

// A name that a message bears, decoded. `text` is NULL for one that is longer than any can be.
struct right_name {
    bool is_present;
    const char *text;
    size_t bytes;
};

// The event that tells approvers of held messages. Only the hub may publish it.
#define RIGHTS_GATE_EVENT "approval-needed"

// All that a message names, and which of it is the address that decides (docs/protocol.md, routing).
struct right_call {
    enum right_kind by;                   // KIND_AGENT to KIND_METHOD: names[by] is given
    struct right_name names[KINDS_COUNT]; // a capability without its @; the event of an `event`
};

struct verdict rights_register(const struct user *user, const char *agent, size_t bytes);
// Whether its agents may list that name; `kind` is KIND_CAPABILITY, KIND_TOOL or KIND_METHOD.
struct verdict rights_offer(const struct user *user, enum right_kind kind, const char *name, size_t bytes);
// Whether they may list any name of that kind: what doesn't say which it is might be any.
struct verdict rights_offer_any(const struct user *user, enum right_kind kind);
// Judges a call. The address that decides must be permitted, and nothing that the message names may be
// denied. The event isn't looked at.
struct verdict rights_call(const struct user *user, const struct right_call *call);
// Whether one of a group, which is called by another name than its own, may be chosen.
struct verdict rights_reach(const struct user *user, const char *agent, size_t bytes);
// Whether rights_reach could refuse any agent.
static inline bool rights_reach_all(const struct user *user) {
    const struct pattern_set *set = &users_rights(user)->denied[RIGHT_CALL][KIND_AGENT];
    return set->exact_count + set->prefix_count == 0;
}
struct verdict rights_publish(const struct user *user, const char *event, size_t bytes);
// Judges a pattern: an event's name, or a prefix and `*`. Every name that the pattern can match must be
// permitted and none denied. (All of them are permitted if one pattern of the file covers them.) The gate's
// own event is an admin's without a line, too.
struct verdict rights_subscribe(const struct user *user, const char *pattern, size_t bytes);
// Whether an agent of this user's may support a level; also what `initialize` may say.
struct verdict rights_level(const struct user *user, enum governance level);
struct verdict rights_admin(const struct user *user);

// The line whose `hold` names any of what the message names, the event too; 0: none does.
uint32_t rights_hold(const struct user *user, const struct right_call *call);
// The line whose `hold` names the agent that the message would reach; 0: none does.
uint32_t rights_hold_agent(const struct user *user, const char *agent, size_t bytes);
// Whether these two could hold anything.
bool rights_hold_any(const struct user *user);
