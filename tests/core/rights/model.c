// Users files that chance writes, judged by a naive model. The model knows what was meant, and asks each pattern in
// turn. It shares nothing with core/rights but the questions.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/governance.h"
#include "core/rights/rights.h"

enum { USERS = 3, ROLES = 3, RULES = 12, NAME_MAX_BYTES = 4, ROUNDS = 1500, QUESTIONS = 150 };

static uint64_t state_of_chance = 20261122;

static uint32_t chance(uint32_t below) {
    state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(state_of_chance >> 33) % below;
}

// --- What was meant

struct line {
    enum right right;
    enum right_kind kind;
    bool denied;
    char pattern[NAME_MAX_BYTES + 2]; // as in the file, without what tells its kind
};

struct part {
    struct line lines[RULES];
    size_t count;
    int level; // -1: not given
    int admin; // likewise
    uint64_t rate;
    bool takes[ROLES];
    int order[ROLES]; // in which a user takes its roles
};

static struct part users_meant[USERS], roles_meant[ROLES];

static const struct {
    const char *name;
    bool kinds[KINDS_COUNT];
} rights[RIGHTS_COUNT] = {
    [RIGHT_REGISTER] = {"register", {[KIND_AGENT] = true}},
    [RIGHT_OFFER] = {"offer", {[KIND_CAPABILITY] = true, [KIND_TOOL] = true, [KIND_METHOD] = true}},
    [RIGHT_CALL] =
        {"call", {[KIND_AGENT] = true, [KIND_CAPABILITY] = true, [KIND_TOOL] = true, [KIND_METHOD] = true}},
    [RIGHT_PUBLISH] = {"publish", {[KIND_EVENT] = true}},
    [RIGHT_SUBSCRIBE] = {"subscribe", {[KIND_EVENT] = true}},
    [RIGHT_HOLD] = {"hold",
                    {[KIND_AGENT] = true,
                     [KIND_CAPABILITY] = true,
                     [KIND_TOOL] = true,
                     [KIND_METHOD] = true,
                     [KIND_EVENT] = true}},
};

// Makes a name of two letters, so that names meet; `c` is in questions alone.
static void make_name(char *out, uint32_t letters, size_t bytes_min, size_t bytes_max) {
    size_t bytes = bytes_min + chance((uint32_t)(bytes_max - bytes_min + 1));
    for (size_t at = 0; at < bytes; at++)
        out[at] = (char)('a' + chance(letters));
    out[bytes] = '\0';
}

static void make_part(struct part *part, bool is_user) {
    *part = (struct part){.level = chance(2) ? (int)chance(GOVERNANCE_COUNT) : -1,
                          .admin = chance(2) ? (int)chance(2) : -1,
                          .rate = chance(2) * (1 + chance(9))};
    part->count = chance(RULES + 1);
    for (size_t at = 0; at < part->count; at++) {
        struct line *line = &part->lines[at];
        do {
            line->right = (enum right)chance(RIGHTS_COUNT);
            line->kind = (enum right_kind)chance(KINDS_COUNT);
        } while (!rights[line->right].kinds[line->kind]);
        line->denied = line->right != RIGHT_HOLD && chance(4) == 0;
        bool prefix = chance(2);
        make_name(line->pattern, 2, !prefix, 2);
        strcat(line->pattern, prefix ? "*" : "");
    }
    for (int role = 0; is_user && role < ROLES; role++) {
        part->takes[role] = chance(2);
        part->order[role] = role;
    }
    for (uint32_t role = ROLES; is_user && role > 1; role--) {
        uint32_t other = chance(role);
        int moved = part->order[role - 1];
        part->order[role - 1] = part->order[other];
        part->order[other] = moved;
    }
}

// --- The file

static const char *begin_of(const struct line *line) {
    static const char *const begins[] = {"", "@", "tool:", "method:", "event:"};
    return line->kind == KIND_EVENT && line->right != RIGHT_HOLD ? "" : begins[line->kind];
}

static char *write_roles(const struct part *part, char *at) {
    int count = 0;
    for (int index = 0; index < ROLES; index++)
        if (part->takes[part->order[index]])
            at += sprintf(at, "%sr%d", count++ ? ", " : "roles = ", part->order[index]);
    return at + (count ? sprintf(at, "\n") : 0);
}

static char *write_part(const struct part *part, char *at) {
    if (part->level >= 0)
        at += sprintf(at, "level = %s\n", governance_text((enum governance)part->level));
    for (size_t index = 0; index < part->count; index++) {
        const struct line *line = &part->lines[index], *next = line + 1;
        at += sprintf(at, "%s%s = %s%s", line->denied ? "deny-" : "", rights[line->right].name,
                      begin_of(line), line->pattern);
        for (; index + 1 < part->count && next->right == line->right && next->denied == line->denied &&
               chance(2);
             next++, index++)
            at += sprintf(at, ",%s%s", begin_of(next), next->pattern);
        at += sprintf(at, "%s\n", chance(4) ? "" : " ; and so on");
    }
    if (part->admin >= 0)
        at += sprintf(at, "admin = %s\n", part->admin ? "yes" : "no");
    if (part->rate > 0)
        at += sprintf(at, "rate=%d/s\n", (int)part->rate);
    return at;
}

static void write_file(char *at) {
    *at = '\0';
    for (int number = 0; number < USERS + ROLES; number++) {
        bool is_user = number % 2 == 0;
        const struct part *part = is_user ? &users_meant[number / 2] : &roles_meant[number / 2];
        at += sprintf(at, "[%s %c%d]\n", is_user ? "user" : "role", is_user ? 'u' : 'r', number / 2);
        at = write_part(part, is_user ? write_roles(part, at) : at);
    }
}

// --- The model

static bool matches(const char *pattern, const char *name) {
    size_t bytes = strlen(pattern);
    return bytes > 0 && pattern[bytes - 1] == '*' ? strncmp(pattern, name, bytes - 1) == 0
                                                  : strcmp(pattern, name) == 0;
}

static bool part_says(const struct part *part, enum right right, enum right_kind kind, bool denied,
                      const char *name) {
    for (size_t at = 0; at < part->count; at++) {
        const struct line *line = &part->lines[at];
        if (line->right == right && line->kind == kind && line->denied == denied &&
            matches(line->pattern, name))
            return true;
    }
    return false;
}

static bool says(const struct part *user, enum right right, enum right_kind kind, bool denied,
                 const char *name) {
    bool said = part_says(user, right, kind, denied, name);
    for (int role = 0; role < ROLES; role++)
        said |= user->takes[role] && part_says(&roles_meant[role], right, kind, denied, name);
    return said;
}

static bool may(const struct part *user, enum right right, enum right_kind kind, const char *name) {
    return says(user, right, kind, false, name) && !says(user, right, kind, true, name);
}

// Every name of up to four letters, one of which no pattern knows, stands for all that there are.
static bool may_subscribe(const struct part *user, const char *pattern, char *name, size_t bytes) {
    name[bytes] = '\0';
    if (matches(pattern, name) && !may(user, RIGHT_SUBSCRIBE, KIND_EVENT, name))
        return false;
    for (char letter = 'a'; bytes < NAME_MAX_BYTES && letter <= 'c'; letter++) {
        name[bytes] = letter;
        if (!may_subscribe(user, pattern, name, bytes + 1))
            return false;
    }
    return true;
}

static const struct part *first_with(const struct part *user, size_t offset) {
    const struct part *parts[1 + ROLES] = {user};
    for (int at = 0; at < ROLES; at++)
        parts[1 + at] = user->takes[user->order[at]] ? &roles_meant[user->order[at]] : NULL;
    for (int at = 0; at < 1 + ROLES; at++)
        if (parts[at] && *(const int *)((const char *)parts[at] + offset) >= 0)
            return parts[at];
    return NULL;
}

// --- Questions

static void ask_lists(const struct part *meant, const struct user *user) {
    char name[NAME_MAX_BYTES + 1];
    make_name(name, 3, 0, 3);
    size_t bytes = strlen(name);
    assert_int_equal(rights_register(user, name, bytes).allowed,
                     may(meant, RIGHT_REGISTER, KIND_AGENT, name));
    assert_int_equal(rights_publish(user, name, bytes).allowed, may(meant, RIGHT_PUBLISH, KIND_EVENT, name));
    for (enum right_kind kind = KIND_CAPABILITY; kind <= KIND_METHOD; kind++)
        assert_int_equal(rights_offer(user, kind, name, bytes).allowed, may(meant, RIGHT_OFFER, kind, name));
    assert_int_equal(rights_reach(user, name, bytes).allowed,
                     !says(meant, RIGHT_CALL, KIND_AGENT, true, name));
    assert_int_equal(rights_hold_agent(user, name, bytes) != 0,
                     says(meant, RIGHT_HOLD, KIND_AGENT, false, name));
}

static void ask_subscribe(const struct part *meant, const struct user *user) {
    char pattern[NAME_MAX_BYTES + 1], name[NAME_MAX_BYTES + 1];
    bool prefix = chance(2);
    make_name(pattern, 3, !prefix, 3);
    strcat(pattern, prefix ? "*" : "");
    assert_int_equal(rights_subscribe(user, pattern, strlen(pattern)).allowed,
                     may_subscribe(meant, pattern, name, 0));
}

static void ask_message(const struct part *meant, const struct user *user) {
    char names[KINDS_COUNT][NAME_MAX_BYTES + 1];
    struct right_call message = {.by = (enum right_kind)chance(KIND_METHOD + 1)};
    bool denied = false, held = false;
    for (enum right_kind kind = 0; kind < KINDS_COUNT; kind++) {
        make_name(names[kind], 3, 0, 3);
        bool given = kind == message.by || chance(2);
        message.names[kind] = (struct right_name){given, names[kind], strlen(names[kind])};
        denied |= given && kind != KIND_EVENT && says(meant, RIGHT_CALL, kind, true, names[kind]);
        held |= given && says(meant, RIGHT_HOLD, kind, false, names[kind]);
    }
    bool given = says(meant, RIGHT_CALL, message.by, false, names[message.by]);
    struct verdict verdict = rights_call(user, &message);
    assert_int_equal(verdict.allowed, given && !denied);
    assert_int_equal(verdict.line != 0, given || denied);
    assert_int_equal(rights_hold(user, &message) != 0, held);
}

static void ask_singles(const struct part *meant, const struct user *user) {
    const struct part *level = first_with(meant, offsetof(struct part, level));
    const struct part *admin = first_with(meant, offsetof(struct part, admin));
    for (enum governance asked = 0; asked < GOVERNANCE_COUNT; asked++)
        assert_int_equal(rights_level(user, asked).allowed, !level || (int)asked <= level->level);
    assert_int_equal(rights_admin(user).allowed, admin && admin->admin);
    uint64_t rate = meant->rate;
    for (int at = 0; at < ROLES && rate == 0; at++)
        rate = meant->takes[meant->order[at]] ? roles_meant[meant->order[at]].rate : 0;
    assert_int_equal(users_rights(user)->limits.rate, rate);
}

static void no_fault(void *context, const struct users_fault *fault) {
    fail_msg("%s\nline %u: %s", (const char *)context, fault->line, fault->expected);
}

static void as_it_was_meant(void **state) {
    (void)state;
    static const struct siphash_key key = {{3, 4}};
    static char text[(USERS + ROLES) * (RULES * 40 + 200)];
    for (int round = 0; round < ROUNDS; round++) {
        for (int number = 0; number < USERS; number++)
            make_part(&users_meant[number], true);
        for (int number = 0; number < ROLES; number++)
            make_part(&roles_meant[number], false);
        write_file(text);
        struct users *users = users_read(text, strlen(text), &key, NULL, no_fault, text);
        users_judge_by(users);
        assert_int_equal(users_count(users), USERS);
        for (uint32_t number = 0; number < USERS; number++)
            ask_singles(&users_meant[number], users_at(users, number));
        for (int question = 0; question < QUESTIONS; question++) {
            uint32_t number = chance(USERS);
            ask_lists(&users_meant[number], users_at(users, number));
            ask_subscribe(&users_meant[number], users_at(users, number));
            ask_message(&users_meant[number], users_at(users, number));
        }
        users_drop(users);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_it_was_meant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
