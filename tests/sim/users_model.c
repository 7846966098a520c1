#include "tests/sim/users_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rights/digest.h"
#include "tests/sim/toy.h"

const char *const model_agents[] = {"a-1", "a-2", "a-22", "b-1", "b-2", "tool:x", NULL};
const char *const model_capabilities[] = {"c1", "c2", "d", NULL};
const char *const model_tools[] = {"t1", "t2", "u", NULL};
const char *const model_methods[] = {"m/1", "m/2", "n/1", NULL};
const char *const model_events[] = {"e-1", "e-2", "f", NULL};

const char *const model_certificates[MODEL_CERTIFICATES + 1] = {"c-1", "c-12",        "c-1.x", "C-1",
                                                                "d",   "*.d.example", NULL};

static const char *const rights[MODEL_RIGHTS] = {"register", "offer", "call", "publish", "subscribe", "hold"};
static const char *const levels[] = {"autonomous", "supervised", "human-in-the-loop", "manual"};
static const char *const kinds[] = {"", "@", "tool:", "method:", "event:"};

// Patterns of each right, NULL at the end.
static const char *const patterns[MODEL_RIGHTS][24] = {
    [MAY_REGISTER] = {"*", "a-*", "a-1", "a-2", "a-2*", "b-*", "b-1", "b-2"},
    [MAY_OFFER] = {"@*", "@c*", "@c1", "@d", "tool:*", "tool:t*", "tool:u", "method:*", "method:m/*",
                   "method:n/1"},
    [MAY_CALL] = {"*",
                  "a-*",
                  "a-1",
                  "a-2",
                  "b-*",
                  "b-2",
                  "@*",
                  "@c*",
                  "@c1",
                  "@d",
                  "tool:*",
                  "tool:t1",
                  "tool:t*",
                  "tool:u",
                  "method:*",
                  "method:m/*",
                  "method:m/1",
                  "method:n/1",
                  "method:tool/integration",
                  "method:event",
                  "method:audit/log"},
    [MAY_PUBLISH] = {"*", "e-*", "e-1", "f", "f*"},
    [MAY_SUBSCRIBE] = {"*", "e-*", "e-1", "e-2", "f", "f*"},
    [IS_HELD] = {"a-1", "b-*", "@c1", "tool:t*", "method:m/2", "event:e-1"},
};

const char *model_any(struct random *random, const char *const *names) {
    unsigned count = 0;
    while (names[count])
        count++;
    return names[random_below(random, count)];
}

// --- Chance

static void add_line(struct model_section *section, struct random *random, bool gated) {
    static const enum model_right drawn[] = {MAY_REGISTER, MAY_REGISTER,  MAY_OFFER, MAY_OFFER,
                                             MAY_CALL,     MAY_CALL,      MAY_CALL,  MAY_CALL,
                                             MAY_PUBLISH,  MAY_SUBSCRIBE, IS_HELD};
    enum model_right right = drawn[random_below(random, sizeof drawn / sizeof *drawn)];
    if (section->count == MODEL_LINES || (right == IS_HELD && !gated))
        return;
    struct model_line *line = &section->lines[section->count++];
    *line = (struct model_line){right, right != IS_HELD && random_chance(random, 250),
                                model_any(random, patterns[right])};
}

// Half of them may much.
static void add_much(struct model_section *section, struct random *random) {
    static const struct model_line much[] = {{MAY_REGISTER, false, "*"},   {MAY_OFFER, false, "@*"},
                                             {MAY_OFFER, false, "tool:*"}, {MAY_OFFER, false, "method:*"},
                                             {MAY_CALL, false, "*"},       {MAY_CALL, false, "@*"},
                                             {MAY_CALL, false, "tool:*"},  {MAY_CALL, false, "method:*"},
                                             {MAY_PUBLISH, false, "*"},    {MAY_SUBSCRIBE, false, "*"}};
    for (unsigned at = 0; at < sizeof much / sizeof *much; at++)
        if (random_chance(random, 700) && section->count < MODEL_LINES)
            section->lines[section->count++] = much[at];
}

static uint64_t any_limit(struct random *random, uint32_t chance, uint32_t least, uint32_t most) {
    return random_chance(random, chance) ? random_between(random, least, most) : 0;
}

static void make_section(struct model_section *section, struct random *random, bool gated, bool is_role) {
    *section = (struct model_section){.level = -1, .admin = -1};
    if (!is_role && random_chance(random, 600))
        add_much(section, random);
    for (unsigned count = random_below(random, is_role ? 6 : 10); count > 0; count--)
        add_line(section, random, gated);
    for (unsigned count = gated ? random_below(random, 3) : 0; count > 0; count--)
        if (section->count < MODEL_LINES)
            section->lines[section->count++] =
                (struct model_line){IS_HELD, false, model_any(random, patterns[IS_HELD])};
    if (random_chance(random, is_role ? 200 : 300))
        section->level = (int)random_below(random, 4);
    if (random_chance(random, is_role ? 100 : 300))
        section->admin = random_chance(random, 700);
    if (gated && !is_role && random_chance(random, 400))
        section->admin = 1;
    uint32_t chance = is_role ? 60 : 120;
    section->rate = any_limit(random, chance, 2, random_chance(random, 300) ? 90 : 30);
    section->bytes = any_limit(random, chance, 300, random_chance(random, 300) ? 9000 : 3000);
    section->fanout = any_limit(random, chance, 2, 20);
    section->connections = any_limit(random, chance, 1, 3);
    section->pending = any_limit(random, chance, 1, 6);
}

void model_make(struct model *model, struct random *random, bool gated) {
    *model = (struct model){.gated = gated};
    for (unsigned role = 0; role < MODEL_ROLES; role++)
        make_section(&model->roles[role], random, gated, true);
    for (unsigned user = 0; user < MODEL_USERS; user++) {
        struct model_user *made = &model->users[user];
        make_section(&made->own, random, gated, false);
        made->roles = random_below(random, 1U << MODEL_ROLES);
        made->generation[0] = 1;
        made->generation[1] = random_chance(random, 400);
        made->has_uid = random_chance(random, 500);
    }
}

static void change_user(struct model *model, struct random *random, unsigned user) {
    struct model_user *changed = &model->users[user];
    uint32_t dice = random_below(random, 10);
    if (dice < 5)
        make_section(&changed->own, random, model->gated, false);
    else if (dice < 7)
        changed->roles = random_below(random, 1U << MODEL_ROLES);
    else if (dice < 8)
        changed->generation[0] += 1;
    else if (dice < 9)
        changed->generation[1] = changed->generation[1] ? 0 : 100 + random_below(random, 1000);
    else
        changed->has_uid = !changed->has_uid;
}

void model_change(struct model *model, struct random *random) {
    for (unsigned count = random_below(random, 4); count > 0; count--)
        change_user(model, random, random_below(random, MODEL_USERS));
    if (random_chance(random, 200))
        make_section(&model->roles[random_below(random, MODEL_ROLES)], random, model->gated, true);
}

static unsigned any_holder(struct random *random) {
    return random_chance(random, 600) ? 1 + random_below(random, MODEL_USERS) : 0;
}

void model_make_certificates(struct model *model, struct random *random) {
    model->authorities = (1U << TOY_AUTHORITIES) - 1;
    for (unsigned at = 0; at < MODEL_CERTIFICATES; at++)
        model->certificates[at] = any_holder(random);
}

void model_change_certificates(struct model *model, struct random *random) {
    if (random_chance(random, 500))
        model->certificates[random_below(random, MODEL_CERTIFICATES)] = any_holder(random);
    if (random_chance(random, 150))
        model->authorities ^= 1U << random_below(random, TOY_AUTHORITIES);
}

// --- The file

struct writing {
    char *text;
    size_t bytes;
};

__attribute__((format(printf, 2, 3))) static void put(struct writing *writing, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count =
        vsnprintf(writing->text + writing->bytes, MODEL_TEXT_BYTES - writing->bytes, format, arguments);
    va_end(arguments);
    writing->bytes += (size_t)count;
    if (writing->bytes >= MODEL_TEXT_BYTES)
        abort();
}

static void put_limit(struct writing *writing, const char *key, uint64_t value, const char *unit) {
    if (value)
        put(writing, "%s = %llu%s\n", key, (unsigned long long)value, unit);
}

static void put_section(struct writing *writing, const struct model_section *section) {
    for (unsigned at = 0; at < section->count; at++) {
        const struct model_line *line = &section->lines[at];
        put(writing, "%s%s = %s\n", line->denies ? "deny-" : "", rights[line->right], line->pattern);
    }
    if (section->level >= 0)
        put(writing, "level = %s\n", levels[section->level]);
    if (section->admin >= 0)
        put(writing, "admin = %s\n", section->admin ? "yes" : "no");
    put_limit(writing, "rate", section->rate, "/s");
    put_limit(writing, "bytes", section->bytes, "/s");
    put_limit(writing, "fanout", section->fanout, "/s");
    put_limit(writing, "connections", section->connections, "");
    put_limit(writing, "pending", section->pending, "");
}

void model_user_name(unsigned user, char name[16]) {
    snprintf(name, 16, "user-%u", user);
}

void model_token(unsigned user, unsigned which, unsigned generation, char token[MODEL_TOKEN_BYTES]) {
    snprintf(token, MODEL_TOKEN_BYTES, "secret-%u-%u-%u", user, which, generation);
}

static void put_token(struct writing *writing, unsigned user, unsigned which, unsigned generation) {
    char token[MODEL_TOKEN_BYTES], line[DIGEST_TEXT_BYTES];
    struct digest digest;
    model_token(user, which, generation, token);
    if (!digest_make(token, strlen(token), &digest))
        abort();
    digest_text(&digest, line);
    put(writing, "token = %.*s\n", (int)sizeof line, line);
}

size_t model_write(const struct model *model, char text[MODEL_TEXT_BYTES]) {
    struct writing writing = {text, 0};
    for (unsigned user = 0; user < MODEL_USERS; user++) {
        const struct model_user *written = &model->users[user];
        char name[16];
        if (written->absent)
            continue;
        model_user_name(user, name);
        put(&writing, "[user %s]\n", name);
        for (unsigned which = 0; which < MODEL_TOKENS; which++)
            if (written->generation[which])
                put_token(&writing, user, which, written->generation[which]);
        for (unsigned at = 0; at < MODEL_CERTIFICATES; at++)
            if (model->certificates[at] == user + 1)
                put(&writing, "certificate = %s\n", model_certificates[at]);
        if (written->has_uid)
            put(&writing, "uid = %u\n", MODEL_UID + user);
        if (written->roles)
            put(&writing, "roles = %s %s\n", written->roles & 1 ? "role-0" : "",
                written->roles & 2 ? "role-1" : "");
        put_section(&writing, &written->own);
    }
    for (unsigned role = 0; role < MODEL_ROLES; role++) {
        put(&writing, "[role role-%u]\n", role);
        put_section(&writing, &model->roles[role]);
    }
    return writing.bytes;
}

bool model_has_token(const struct model *model, unsigned user, unsigned which, unsigned generation) {
    return generation && model->users[user].generation[which] == generation;
}

bool model_vouches(const struct model *model, const char *certificate) {
    return model->authorities >> (certificate[0] - '0') & 1;
}

int model_by_certificate(const struct model *model, const char *certificate) {
    char names[TOY_CERTIFICATE_BYTES], *rest = names;
    snprintf(names, sizeof names, "%s", certificate + 1);
    for (const char *name; (name = strtok_r(rest, "\n", &rest));)
        for (unsigned at = 0; at < MODEL_CERTIFICATES; at++)
            if (model->certificates[at] && strcmp(name, model_certificates[at]) == 0)
                return (int)model->certificates[at] - 1;
    return -1;
}

// --- Judging

bool model_matches(const char *pattern, const char *name) {
    size_t bytes = strlen(pattern);
    if (bytes > 0 && pattern[bytes - 1] == '*')
        return strncmp(pattern, name, bytes - 1) == 0;
    return strcmp(pattern, name) == 0;
}

// Returns whether what a line says is of that kind; then it is without what tells the kind.
static const char *about(const struct model_line *line, enum model_kind kind) {
    const char *pattern = line->pattern;
    enum model_kind found = line->right == MAY_PUBLISH || line->right == MAY_SUBSCRIBE ? AN_EVENT : AN_AGENT;
    for (enum model_kind told = A_CAPABILITY; found == AN_AGENT && told <= AN_EVENT; told++) {
        bool is_told = strncmp(pattern, kinds[told], strlen(kinds[told])) == 0;
        if (is_told && (told != AN_EVENT || line->right == IS_HELD)) {
            found = told;
            pattern += strlen(kinds[told]);
        }
    }
    return found == kind ? pattern : NULL;
}

static bool any_line(const struct model_section *section, enum model_right right, bool denies,
                     enum model_kind kind, const char *name) {
    for (unsigned at = 0; at < section->count; at++) {
        const struct model_line *line = &section->lines[at];
        const char *pattern = line->right == right && line->denies == denies ? about(line, kind) : NULL;
        if (pattern && model_matches(pattern, name))
            return true;
    }
    return false;
}

static bool any_section(const struct model *model, unsigned user, enum model_right right, bool denies,
                        enum model_kind kind, const char *name) {
    bool found = any_line(&model->users[user].own, right, denies, kind, name);
    for (unsigned role = 0; role < MODEL_ROLES; role++)
        if (model->users[user].roles >> role & 1)
            found |= any_line(&model->roles[role], right, denies, kind, name);
    return found;
}

bool model_denies(const struct model *model, unsigned user, enum model_right right, enum model_kind kind,
                  const char *name) {
    return any_section(model, user, right, true, kind, name);
}

bool model_may(const struct model *model, unsigned user, enum model_right right, enum model_kind kind,
               const char *name) {
    return any_section(model, user, right, false, kind, name) &&
           !model_denies(model, user, right, kind, name);
}

bool model_holds(const struct model *model, unsigned user, enum model_kind kind, const char *name) {
    return any_section(model, user, IS_HELD, false, kind, name);
}

// Returns whether a line of the section matches the name, or all names that begin with the prefix. Where lines deny:
// whether one matches some of these names, by a shorter or a longer pattern.
static bool hears(const struct model_section *section, bool denies, const char *prefix) {
    for (unsigned at = 0; at < section->count; at++) {
        const struct model_line *line = &section->lines[at];
        size_t bytes = strlen(line->pattern), common = strlen(prefix);
        bool is_prefix = line->pattern[bytes - 1] == '*';
        if (line->right != MAY_SUBSCRIBE || line->denies != denies)
            continue;
        if (is_prefix && model_matches(line->pattern, prefix))
            return true;
        if (denies && strncmp(line->pattern, prefix, common) == 0)
            return true;
    }
    return false;
}

static bool hears_any(const struct model *model, unsigned user, bool denies, const char *prefix) {
    bool found = hears(&model->users[user].own, denies, prefix);
    for (unsigned role = 0; role < MODEL_ROLES; role++)
        if (model->users[user].roles >> role & 1)
            found |= hears(&model->roles[role], denies, prefix);
    return found;
}

bool model_may_hear(const struct model *model, unsigned user, const char *pattern) {
    char prefix[64];
    size_t bytes = strlen(pattern);
    if (strcmp(pattern, "approval-needed") == 0 && model_admin(model, user))
        return !model_denies(model, user, MAY_SUBSCRIBE, AN_EVENT, pattern);
    if (pattern[bytes - 1] != '*')
        return model_may(model, user, MAY_SUBSCRIBE, AN_EVENT, pattern);
    snprintf(prefix, sizeof prefix, "%.*s", (int)bytes - 1, pattern);
    return hears_any(model, user, false, prefix) && !hears_any(model, user, true, prefix);
}

// --- Single values: the user's own, else the first role's that has it

int model_level(const struct model *model, unsigned user) {
    int level = model->users[user].own.level;
    for (unsigned role = 0; role < MODEL_ROLES && level < 0; role++)
        if (model->users[user].roles >> role & 1)
            level = model->roles[role].level;
    return level < 0 ? 3 : level;
}

bool model_admin(const struct model *model, unsigned user) {
    int admin = model->users[user].own.admin;
    for (unsigned role = 0; role < MODEL_ROLES && admin < 0; role++)
        if (model->users[user].roles >> role & 1)
            admin = model->roles[role].admin;
    return admin > 0;
}

uint64_t model_limit(const struct model *model, unsigned user, size_t member) {
    uint64_t value;
    memcpy(&value, (const char *)&model->users[user].own + member, sizeof value);
    for (unsigned role = 0; role < MODEL_ROLES && !value; role++)
        if (model->users[user].roles >> role & 1)
            memcpy(&value, (const char *)&model->roles[role] + member, sizeof value);
    return value;
}
