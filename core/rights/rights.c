#include "core/rights/rights.h"

#include <assert.h>
#include <string.h>

static const char *const rules[RULES_COUNT] = {
    [RULE_REGISTER] = "register",
    [RULE_OFFER] = "offer",
    [RULE_CALL] = "call",
    [RULE_PUBLISH] = "publish",
    [RULE_SUBSCRIBE] = "subscribe",
    [RULE_LEVEL] = "level",
    [RULE_ADMIN] = "admin",
    [RULE_SOURCE_AGENT] = "sourceAgent",
    [RULE_CREDENTIAL] = "credential",
    [RULE_OWN] = "own",
};

const char *rule_text(enum rule rule) {
    assert(rule < RULES_COUNT);
    return rules[rule];
}

// --- Judging a name by a list

static uint32_t line_of(const struct pattern *pattern) {
    assert(!pattern || pattern->line > 0);
    return pattern ? pattern->line : 0;
}

static const struct pattern *find_grant(const struct user *user, enum right right, enum right_kind kind,
                                        const char *name, size_t bytes) {
    assert(right < RIGHTS_COUNT && kind < KINDS_COUNT);
    const struct pattern_set *set = &users_rights(user)->granted[right][kind];
    return pattern_set_is_empty(set) ? NULL : patterns_match(users_rights(user)->patterns, set, name, bytes);
}

static const struct pattern *denied(const struct user *user, enum right right, enum right_kind kind,
                                    const char *name, size_t bytes) {
    assert(right < RIGHTS_COUNT && right != RIGHT_HOLD && kind < KINDS_COUNT);
    const struct pattern_set *set = &users_rights(user)->denied[right][kind];
    return pattern_set_is_empty(set) ? NULL : patterns_match(users_rights(user)->patterns, set, name, bytes);
}

static struct verdict refused_by(const struct pattern *by) {
    return (struct verdict){false, line_of(by)};
}

static struct verdict judge(const struct user *user, enum right right, enum right_kind kind, const char *name,
                            size_t bytes) {
    const struct pattern *deny = denied(user, right, kind, name, bytes);
    if (deny)
        return refused_by(deny);
    const struct pattern *give = find_grant(user, right, kind, name, bytes);
    return (struct verdict){give != NULL, line_of(give)};
}

struct verdict rights_register(const struct user *user, const char *agent, size_t bytes) {
    return judge(user, RIGHT_REGISTER, KIND_AGENT, agent, bytes);
}

struct verdict rights_offer(const struct user *user, enum right_kind kind, const char *name, size_t bytes) {
    assert(kind == KIND_CAPABILITY || kind == KIND_TOOL || kind == KIND_METHOD);
    return judge(user, RIGHT_OFFER, kind, name, bytes);
}

struct verdict rights_offer_any(const struct user *user, enum right_kind kind) {
    const struct pattern_set *deny = &users_rights(user)->denied[RIGHT_OFFER][kind];
    assert(kind == KIND_CAPABILITY || kind == KIND_TOOL || kind == KIND_METHOD);
    if (!pattern_set_is_empty(deny))
        return refused_by(&users_rights(user)->patterns[deny->first]);
    const struct pattern *give = find_grant(user, RIGHT_OFFER, kind, NULL, 0);
    return (struct verdict){give != NULL, line_of(give)};
}

struct verdict rights_publish(const struct user *user, const char *event, size_t bytes) {
    return judge(user, RIGHT_PUBLISH, KIND_EVENT, event, bytes);
}

// --- Messages

struct verdict rights_call(const struct user *user, const struct right_call *call) {
    assert(call->by <= KIND_METHOD && call->names[call->by].is_present);
    for (enum right_kind kind = KIND_AGENT; kind <= KIND_METHOD; kind++) {
        const struct right_name *name = &call->names[kind];
        const struct pattern *deny =
            name->is_present ? denied(user, RIGHT_CALL, kind, name->text, name->bytes) : NULL;
        if (deny)
            return refused_by(deny);
    }
    const struct right_name *by = &call->names[call->by];
    const struct pattern *give = find_grant(user, RIGHT_CALL, call->by, by->text, by->bytes);
    return (struct verdict){give != NULL, line_of(give)};
}

struct verdict rights_reach(const struct user *user, const char *agent, size_t bytes) {
    const struct pattern *deny = denied(user, RIGHT_CALL, KIND_AGENT, agent, bytes);
    return (struct verdict){!deny, line_of(deny)};
}

uint32_t rights_hold(const struct user *user, const struct right_call *call) {
    for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++) {
        const struct right_name *name = &call->names[kind];
        const struct pattern *held =
            name->is_present ? find_grant(user, RIGHT_HOLD, kind, name->text, name->bytes) : NULL;
        if (held)
            return held->line;
    }
    return 0;
}

uint32_t rights_hold_agent(const struct user *user, const char *agent, size_t bytes) {
    return line_of(find_grant(user, RIGHT_HOLD, KIND_AGENT, agent, bytes));
}

bool rights_hold_any(const struct user *user) {
    bool any = false;
    for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++)
        any |= users_rights(user)->granted[RIGHT_HOLD][kind].prefix_count +
                   users_rights(user)->granted[RIGHT_HOLD][kind].exact_count >
               0;
    return any;
}

// --- Patterns of events

// Judges a subscription to one event. An admin may subscribe to the gate's event, unless a line denies that.
static struct verdict subscribe_one(const struct user *user, const char *event, size_t bytes) {
    static const char gate[] = RIGHTS_GATE_EVENT;
    struct verdict verdict = judge(user, RIGHT_SUBSCRIBE, KIND_EVENT, event, bytes);
    bool is_gate = bytes == sizeof gate - 1 && memcmp(event, gate, bytes) == 0;
    bool is_unnamed = !verdict.allowed && verdict.line == 0;
    return is_gate && users_rights(user)->admin && is_unnamed ? rights_admin(user) : verdict;
}

struct verdict rights_subscribe(const struct user *user, const char *pattern, size_t bytes) {
    assert(pattern && bytes > 0);
    if (pattern[bytes - 1] != '*')
        return subscribe_one(user, pattern, bytes);
    const struct pattern_set *deny = &users_rights(user)->denied[RIGHT_SUBSCRIBE][KIND_EVENT];
    const struct pattern_set *give = &users_rights(user)->granted[RIGHT_SUBSCRIBE][KIND_EVENT];
    const struct pattern *met = patterns_intersect(users_rights(user)->patterns, deny, pattern, bytes - 1);
    if (met)
        return refused_by(met);
    const struct pattern *cover = patterns_cover(users_rights(user)->patterns, give, pattern, bytes - 1);
    return (struct verdict){cover != NULL, line_of(cover)};
}

// --- Rights without lists

struct verdict rights_level(const struct user *user, enum governance level) {
    assert(level < GOVERNANCE_COUNT);
    return (struct verdict){level <= users_rights(user)->level, users_rights(user)->level_line};
}

struct verdict rights_admin(const struct user *user) {
    return (struct verdict){users_rights(user)->admin, users_rights(user)->admin_line};
}
