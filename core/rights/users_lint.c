// Compares each pattern with the others of its section, and with what the section's users may do.
#include "core/rights/users_lint.h"

#include <assert.h>
#include <string.h>

#include "core/rights/sections.h"

// --- Two patterns

static bool begins(const struct pattern *one, const struct pattern *with) {
    return one->bytes >= with->bytes && memcmp(one->text, with->text, with->bytes) == 0;
}

// Returns whether `other` matches every name that `one` matches.
static bool covers(const struct pattern *other, const struct pattern *one) {
    return other->prefix ? begins(one, other)
                         : !one->prefix && one->bytes == other->bytes && begins(one, other);
}

static bool meet(const struct pattern *one, const struct pattern *other) {
    return covers(one, other) || covers(other, one);
}

static bool starts(const struct pattern *pattern, const char *text) {
    size_t bytes = strlen(text);
    return pattern->bytes >= bytes && memcmp(pattern->text, text, bytes) == 0;
}

// --- Sections that belong together

// Sets the section of each role in `roles`, so that each role is searched for once.
static void find_roles(struct sections *sections) {
    for (uint32_t at = 0; at < sections->roles.count; at++) {
        struct section_role *role = &sections_roles(sections)[at];
        for (uint32_t index = 0; index < sections->sections.count; index++) {
            const struct section *section = sections_at(sections, index);
            if (section->is_role &&
                sections_compare(section->name, section->name_bytes, role->name, role->bytes) == 0)
                role->section = index;
        }
    }
}

// Returns the user's own section, then the section of each of its roles; NULL behind the last one.
static const struct section *part_of(const struct sections *sections, const struct section *user,
                                     uint32_t at) {
    assert(!user->is_role);
    if (at > user->roles.count)
        return NULL;
    const struct section_role *roles = sections_roles(sections) + user->roles.first;
    return at == 0 ? user : sections_at(sections, roles[at - 1].section);
}

static bool has_part(const struct sections *sections, const struct section *user,
                     const struct section *part) {
    const struct section *one;
    for (uint32_t at = 0; (one = part_of(sections, user, at)); at++)
        if (one == part)
            return true;
    return false;
}

// --- Whether a user's denial or hold concerns any right of the user

// Returns whether a message that `given` (of `call`) permits may also have a name that the pattern matches.
static bool may_name(const struct section_pattern *given, const struct section_pattern *pattern) {
    assert(given->right == RIGHT_CALL && given->kind <= KIND_METHOD);
    static const struct pattern integration = {.text = "tool/integration", .bytes = 16};
    if (given->kind == pattern->kind)
        return meet(&given->pattern, &pattern->pattern);
    switch (pattern->kind) {
    case KIND_AGENT: // a member of a group, chosen by another name
        return true;
    case KIND_TOOL:
        return given->kind == KIND_AGENT || given->kind == KIND_CAPABILITY;
    case KIND_METHOD:
        return given->kind != KIND_TOOL || meet(&integration, &pattern->pattern);
    default:
        return false;
    }
}

static bool concerns(const struct section_pattern *given, const struct section_pattern *pattern) {
    enum right right = pattern->right;
    assert(pattern->denied || right == RIGHT_HOLD);
    if (given->denied)
        return false;
    if (right == RIGHT_HOLD && pattern->kind == KIND_EVENT)
        return given->right == RIGHT_PUBLISH && meet(&given->pattern, &pattern->pattern);
    if (right == RIGHT_HOLD || right == RIGHT_CALL)
        return given->right == RIGHT_CALL && may_name(given, pattern);
    return given->right == right && given->kind == pattern->kind && meet(&given->pattern, &pattern->pattern);
}

static bool concerns_user(const struct sections *sections, const struct section *user,
                          const struct section_pattern *pattern) {
    const struct section *part;
    for (uint32_t at = 0; (part = part_of(sections, user, at)); at++)
        for (uint32_t index = 0; index < part->patterns.count; index++)
            if (concerns(&sections_patterns(sections)[part->patterns.first + index], pattern))
                return true;
    return false;
}

static bool concerns_any(const struct sections *sections, const struct section *part,
                         const struct section_pattern *pattern) {
    if (!part->is_role)
        return concerns_user(sections, part, pattern);
    for (uint32_t at = 0; at < sections->sections.count; at++) {
        const struct section *user = sections_at(sections, at);
        if (!user->is_role && has_part(sections, user, part) && concerns_user(sections, user, pattern))
            return true;
    }
    return false;
}

// --- Patterns

static bool is_of_list(const struct section_pattern *one, const struct section_pattern *other) {
    return one->right == other->right && one->kind == other->kind;
}

// Compares a pattern with the others of its section.
static void review_beside(struct sections *sections, const struct section *section,
                          const struct section_pattern *pattern) {
    for (uint32_t index = 0; index < section->patterns.count; index++) {
        const struct section_pattern *other = &sections_patterns(sections)[section->patterns.first + index];
        if (other == pattern || !is_of_list(pattern, other) || !covers(&other->pattern, &pattern->pattern))
            continue;
        bool same = covers(&pattern->pattern, &other->pattern);
        if (other->denied == pattern->denied && (!same || other < pattern))
            sections_fault(sections, pattern->pattern.line, "another pattern of the section says it already");
        if (other->denied && !pattern->denied)
            sections_fault(sections, pattern->pattern.line, "all that it gives is denied again");
    }
}

static bool is_of_hub(const struct pattern *method) {
    static const char *const names[] = {"initialize", "initialized",    "exit",
                                        "shutdown",   "agent/register", "agent/unregister"};
    for (size_t at = 0; at < sizeof names / sizeof *names; at++)
        if (!method->prefix && method->bytes == strlen(names[at]) && starts(method, names[at]))
            return true;
    return starts(method, "hub/") || starts(method, "$/") || starts(method, "rpc.");
}

// Reports names that look like another kind.
static void review_name(struct sections *sections, const struct section_pattern *pattern) {
    static const char *const kinds[] = {"@",      "tool:",   "tools:",   "method:", "methods:",
                                        "event:", "events:", "command:", "agent:",  "capability:"};
    const struct pattern *name = &pattern->pattern;
    bool plain = pattern->kind == KIND_AGENT || (pattern->kind == KIND_EVENT && pattern->right != RIGHT_HOLD);
    for (size_t at = 0; plain && at < sizeof kinds / sizeof *kinds; at++)
        if (starts(name, kinds[at]))
            sections_fault(sections, name->line,
                           pattern->kind == KIND_AGENT
                               ? "here this is the name of an agent, and of nothing else"
                               : "here this is the name of an event, and of nothing else");
    if (pattern->kind == KIND_METHOD && is_of_hub(name))
        sections_fault(sections, name->line, "the hub answers this method itself, whoever asks");
    if (pattern->kind == KIND_METHOD && !name->prefix && !pattern->denied &&
        covers(name, &(struct pattern){.text = "event", .bytes = 5}))
        sections_fault(sections, name->line,
                       "who may send an event is told by publish, or event:NAME to hold it");
}

static void review_pattern(struct sections *sections, const struct section *section,
                           const struct section_pattern *pattern) {
    review_beside(sections, section, pattern);
    review_name(sections, pattern);
    if ((pattern->denied || pattern->right == RIGHT_HOLD) && !concerns_any(sections, section, pattern))
        sections_fault(sections, pattern->pattern.line,
                       pattern->denied ? "it denies nothing that is given"
                                       : "it holds nothing that may be sent");
}

// --- Users and roles

static bool gives(const struct sections *sections, const struct section *user, enum right right,
                  uint32_t *line) {
    const struct section *part;
    for (uint32_t at = 0; (part = part_of(sections, user, at)); at++)
        for (uint32_t index = 0; index < part->patterns.count; index++) {
            const struct section_pattern *pattern =
                &sections_patterns(sections)[part->patterns.first + index];
            if (pattern->right == right && !pattern->denied) {
                *line = pattern->pattern.line;
                return true;
            }
        }
    return false;
}

static bool is_admin(const struct sections *sections, const struct section *user) {
    const struct section *part;
    for (uint32_t at = 0; (part = part_of(sections, user, at)); at++)
        if (part->singles[SINGLE_ADMIN].line)
            return part->singles[SINGLE_ADMIN].value != 0;
    return false;
}

// Returns whether another user may decide: a user can't approve the user's own messages.
static bool has_approver(const struct sections *sections, const struct section *user) {
    assert(!user->is_role);
    for (uint32_t at = 0; at < sections->sections.count; at++) {
        const struct section *other = sections_at(sections, at);
        if (other != user && !other->is_role && is_admin(sections, other))
            return true;
    }
    return false;
}

static void review_user(struct sections *sections, const struct section *user) {
    uint32_t line;
    assert(!user->is_role && user->line > 0);
    if (user->credentials.count == 0)
        sections_fault(sections, user->line, "it has no credential: only a child can act for it");
    if (gives(sections, user, RIGHT_OFFER, &line) && !gives(sections, user, RIGHT_REGISTER, &(uint32_t){0}))
        sections_fault(sections, line, "it offers nothing, as it may register no agent");
    if (gives(sections, user, RIGHT_HOLD, &line) && !has_approver(sections, user))
        sections_fault(sections, line, "nobody else is admin who could approve what is held");
}

static void review_role(struct sections *sections, const struct section *role) {
    assert(role->is_role);
    for (uint32_t at = 0; at < sections->sections.count; at++) {
        const struct section *user = sections_at(sections, at);
        if (!user->is_role && has_part(sections, user, role))
            return;
    }
    sections_fault(sections, role->line, "nobody has this role");
}

static void review_credentials(struct sections *sections) {
    const struct section_credential *list = sections_credentials(sections);
    for (uint32_t at = 0; at < sections->credentials.count; at++)
        for (uint32_t before = at; before > 0 && list[before - 1].section == list[at].section; before--)
            if (section_credentials_compare(&list[before - 1], &list[at]) == 0)
                sections_fault(sections, list[at].line, "the user has this credential already");
}

bool users_lint(const char *text, size_t bytes, users_complain *complain, void *context) {
    struct sections sections;
    bool good = sections_read(&sections, text, bytes);
    assert(!good || sections.faults.count == 0);
    if (good)
        find_roles(&sections);
    for (uint32_t at = 0; good && at < sections.sections.count; at++) {
        const struct section *section = sections_at(&sections, at);
        (section->is_role ? review_role : review_user)(&sections, section);
        for (uint32_t index = 0; index < section->patterns.count; index++)
            review_pattern(&sections, section,
                           &sections_patterns(&sections)[section->patterns.first + index]);
    }
    if (good)
        review_credentials(&sections);
    good = good && !sections.failed;
    if (good)
        sections_tell(&sections, complain, context);
    sections_deinit(&sections);
    return good;
}
