// Judges a user's actions by names alone: whether an agent has such a name isn't known here. Each judgement is a few
// binary searches, takes no memory, and gives the line of the file that decided.
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
    uint32_t line; // the line that allows or denies; 0: none does
};

// A name in a message, decoded. `text` is NULL for a name that is longer than any may be.
struct right_name {
    bool is_present;
    const char *text;
    size_t bytes;
};

// The event that tells approvers of held messages. Only the hub may publish this event.
#define RIGHTS_GATE_EVENT "approval-needed"

// All names in a message. `by` is the kind of the name that the message is addressed by (router/docs/protocol.md,
// routing).
struct right_call {
    enum right_kind by;                   // KIND_AGENT to KIND_METHOD; names[by] must be present
    struct right_name names[KINDS_COUNT]; // by kind: a capability without its @, and the event of an `event`
};

struct verdict rights_register(const struct user *user, const char *agent, size_t bytes);
// Judges whether the user's agents may list that name. `kind` is KIND_CAPABILITY, KIND_TOOL or KIND_METHOD.
struct verdict rights_offer(const struct user *user, enum right_kind kind, const char *name, size_t bytes);
// Judges whether the user's agents may list any name of that kind, for an entry that doesn't give its name.
struct verdict rights_offer_any(const struct user *user, enum right_kind kind);
// Judges a call. The name that the message is addressed by must be permitted, and no name in the message may be denied.
// The event isn't judged.
struct verdict rights_call(const struct user *user, const struct right_call *call);
// Judges whether a member of a group may be chosen, for a message that is addressed by another name than the agent's.
struct verdict rights_reach(const struct user *user, const char *agent, size_t bytes);
// Returns whether rights_reach allows every agent.
static inline bool rights_reach_all(const struct user *user) {
    const struct pattern_set *set = &users_rights(user)->denied[RIGHT_CALL][KIND_AGENT];
    return set->exact_count + set->prefix_count == 0;
}
struct verdict rights_publish(const struct user *user, const char *event, size_t bytes);
// Judges a pattern: an event's name, or a prefix and `*`. Every name that the pattern can match must be permitted and
// none denied. (One pattern of the file must cover all of them.) An admin may subscribe to RIGHTS_GATE_EVENT without a
// line.
struct verdict rights_subscribe(const struct user *user, const char *pattern, size_t bytes);
// Judges whether an agent of this user may support a level, or `initialize` may give that level.
struct verdict rights_level(const struct user *user, enum governance level);
struct verdict rights_admin(const struct user *user);

// Returns the line of a `hold` that matches a name in the message, the event included; 0: none does.
uint32_t rights_hold(const struct user *user, const struct right_call *call);
// Returns the line of a `hold` that matches the agent that the message would reach; 0: none does.
uint32_t rights_hold_agent(const struct user *user, const char *agent, size_t bytes);
// Returns whether the user has any `hold`.
bool rights_hold_any(const struct user *user);
