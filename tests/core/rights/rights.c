// Rights of users, rule by rule.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rights/rights.h"

static void no_fault(void *context, const struct users_fault *fault) {
    (void)context;
    fail_msg("line %u: %s", fault->line, fault->expected);
}

// The text's first user is the one.
static struct users *read_text(const char *text, const struct user **user) {
    static const struct siphash_key key = {{1, 2}};
    struct users *users = users_read(text, strlen(text), &key, NULL, no_fault, NULL);
    *user = users_at(users, 0);
    users_judge_by(users);
    return users;
}

static struct right_name named(const char *name) {
    return (struct right_name){true, name, strlen(name)};
}

// Judges a message with these names; NULL: none.
static struct verdict call(const struct user *user, enum right_kind by, const char *agent,
                           const char *capability, const char *tool, const char *method) {
    struct right_call call = {.by = by};
    const char *const names[] = {agent, capability, tool, method};
    for (enum right_kind kind = KIND_AGENT; kind <= KIND_METHOD; kind++)
        if (names[kind])
            call.names[kind] = named(names[kind]);
    return rights_call(user, &call);
}

static void nothing_is_given_unnamed(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\n", &user);
    assert_false(rights_register(user, "a", 1).allowed);
    for (enum right_kind kind = KIND_CAPABILITY; kind <= KIND_METHOD; kind++)
        assert_false(rights_offer(user, kind, "a", 1).allowed);
    assert_false(call(user, KIND_AGENT, "a", NULL, NULL, "m").allowed);
    assert_false(call(user, KIND_METHOD, NULL, NULL, NULL, "m").allowed);
    assert_false(rights_publish(user, "e", 1).allowed);
    assert_false(rights_subscribe(user, "e", 1).allowed);
    assert_false(rights_subscribe(user, "*", 1).allowed);
    assert_false(rights_admin(user).allowed || rights_hold_any(user));
    assert_true(rights_level(user, GOVERNANCE_MANUAL).allowed && rights_reach(user, "a", 1).allowed);
    assert_int_equal(rights_level(user, GOVERNANCE_MANUAL).line, 0);
    users_drop(users);
}

static void registering(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\nregister = ci-*, build\ndeny-register = ci-secret*\n", &user);
    assert_int_equal(rights_register(user, "ci-", 3).line, 2);
    assert_true(rights_register(user, "ci-one", 6).allowed && rights_register(user, "build", 5).allowed);
    assert_false(rights_register(user, "builder", 7).allowed || rights_register(user, "ci", 2).allowed);
    assert_false(rights_register(user, "ci-secret1", 10).allowed);
    assert_int_equal(rights_register(user, "ci-secret1", 10).line, 3);
    assert_int_equal(rights_register(user, "other", 5).line, 0);
    users_drop(users);
}

static void each_pattern_is_of_one_kind(void **state) {
    (void)state;
    const struct user *user;
    struct users *users =
        read_text("[user u]\ncall = *\n[user v]\ncall = @*\n[user w]\ncall = tool:*\n[user x]\n"
                  "call = method:*\n[user y]\noffer = @a, tool:b, method:c*\n",
                  &user);
    for (uint32_t index = 0; index < 4; index++)
        for (enum right_kind kind = KIND_AGENT; kind <= KIND_METHOD; kind++)
            assert_int_equal(call(users_at(users, index), kind, "n", "n", "n", "n").allowed, kind == index);
    user = users_at(users, 4);
    assert_true(rights_offer(user, KIND_CAPABILITY, "a", 1).allowed);
    assert_true(rights_offer(user, KIND_TOOL, "b", 1).allowed);
    assert_true(rights_offer(user, KIND_METHOD, "c/d", 3).allowed);
    assert_false(rights_offer(user, KIND_TOOL, "a", 1).allowed);
    assert_false(rights_offer(user, KIND_CAPABILITY, "c", 1).allowed);
    assert_false(rights_offer_any(user, KIND_METHOD).allowed);
    users_drop(users);
    users = read_text("[user u]\noffer = @*, tool:*\ndeny-offer = tool:b\n", &user);
    assert_int_equal(rights_offer_any(user, KIND_CAPABILITY).line, 2);
    assert_true(rights_offer_any(user, KIND_CAPABILITY).allowed);
    assert_false(rights_offer_any(user, KIND_TOOL).allowed);
    assert_int_equal(rights_offer_any(user, KIND_TOOL).line, 3);
    assert_false(rights_offer_any(user, KIND_METHOD).allowed);
    users_drop(users);
}

static void a_denial_of_anything_named_wins(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\ncall = *, @*, tool:*, method:*\ndeny-call = a, @b\n"
                                    "deny-call = tool:c*\ndeny-call = method:d\n",
                                    &user);
    assert_true(call(user, KIND_AGENT, "x", NULL, "x", "x").allowed);
    assert_int_equal(call(user, KIND_AGENT, "a", NULL, NULL, "x").line, 3);
    assert_int_equal(call(user, KIND_CAPABILITY, NULL, "b", NULL, "x").line, 3);
    assert_int_equal(call(user, KIND_AGENT, "x", NULL, "cc", "x").line, 4);
    assert_int_equal(call(user, KIND_AGENT, "x", NULL, NULL, "d").line, 5);
    assert_false(call(user, KIND_AGENT, "x", NULL, NULL, "d").allowed);
    assert_false(call(user, KIND_TOOL, NULL, NULL, "c", "x").allowed);
    assert_false(rights_reach(user, "a", 1).allowed || rights_reach_all(user));
    assert_true(rights_reach(user, "b", 1).allowed);
    users_drop(users);
}

static void only_the_deciding_address_is_permitted(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\ncall = method:m, tool:t\n", &user);
    assert_true(call(user, KIND_METHOD, NULL, NULL, NULL, "m").allowed);
    assert_true(call(user, KIND_TOOL, NULL, NULL, "t", "x").allowed);
    assert_false(call(user, KIND_AGENT, "a", NULL, "t", "m").allowed);
    assert_false(call(user, KIND_TOOL, NULL, NULL, "x", "m").allowed);
    users_drop(users);
}

static void names_longer_than_any(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\ncall = method:a*\n[user v]\ncall = method:*\n", &user);
    struct right_call overlong = {.by = KIND_METHOD, .names[KIND_METHOD] = {true, NULL, 0}};
    assert_false(rights_call(user, &overlong).allowed);
    assert_true(rights_call(users_at(users, 1), &overlong).allowed);
    users_drop(users);
}

static void patterns_of_events(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\nsubscribe = build-*, task, all-or\n"
                                    "deny-subscribe = build-secret*, build-x-1\npublish = event:*\n",
                                    &user);
    static const struct {
        const char *pattern;
        bool allowed;
        uint32_t line;
    } table[] = {
        {"build-done", true, 2},      {"build-a*", true, 2},   {"build-*", false, 3},
        {"build*", false, 3},         {"*", false, 3},         {"build-secret", false, 3},
        {"build-secrets*", false, 3}, {"build-se*", false, 3}, {"build-sea*", true, 2},
        {"build-x-*", false, 3},      {"build-x-1", false, 3}, {"build-x-1*", false, 3},
        {"build-x-2*", true, 2},      {"task", true, 2},       {"task*", false, 0},
        {"tas*", false, 0},           {"all-or*", false, 0},   {"other", false, 0},
    };
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        struct verdict verdict = rights_subscribe(user, table[row].pattern, strlen(table[row].pattern));
        if (verdict.allowed != table[row].allowed || verdict.line != table[row].line)
            fail_msg("%s: %d by line %u", table[row].pattern, verdict.allowed, verdict.line);
    }
    assert_true(rights_publish(user, "event:x", 7).allowed); // an event's name is as it is
    assert_false(rights_publish(user, "x", 1).allowed);
    users_drop(users);
}

// The gate's event is an admin's without a line, and a denial wins there as everywhere.
static void the_gates_event(void **state) {
    (void)state;
    static const char gate[] = "approval-needed";
    const struct user *user;
    struct users *users = read_text("[user u]\nadmin = yes\n[user v]\n[user w]\nadmin = yes\n"
                                    "subscribe = *\ndeny-subscribe = approval-*\n",
                                    &user);
    struct verdict admins = rights_subscribe(users_at(users, 0), gate, strlen(gate));
    assert_true(admins.allowed && admins.line == 2);
    assert_false(rights_subscribe(users_at(users, 0), "approval-needed*", strlen(gate) + 1).allowed);
    assert_false(rights_subscribe(users_at(users, 0), "approval-neede", strlen(gate) - 1).allowed);
    assert_false(rights_subscribe(users_at(users, 1), gate, strlen(gate)).allowed);
    struct verdict denied = rights_subscribe(users_at(users, 2), gate, strlen(gate));
    assert_true(!denied.allowed && denied.line == 7);
    users_drop(users);
}

static void what_is_held(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\nhold = deploy-*, event:release-*\nhold = method:deploy/*\n"
                                    "hold = tool:prod-*, @danger\n[user v]\ncall = deploy-*\n",
                                    &user);
    struct right_call message = {.by = KIND_METHOD, .names[KIND_METHOD] = named("x")};
    assert_int_equal(rights_hold(user, &message), 0);
    message.names[KIND_METHOD] = named("deploy/now");
    assert_int_equal(rights_hold(user, &message), 3);
    message.names[KIND_METHOD] = named("x");
    message.names[KIND_TOOL] = named("prod-1");
    assert_int_equal(rights_hold(user, &message), 4);
    message.names[KIND_EVENT] = named("release-1");
    message.names[KIND_TOOL].is_present = false;
    assert_int_equal(rights_hold(user, &message), 2);
    message.names[KIND_EVENT].is_present = false;
    message.names[KIND_CAPABILITY] = named("danger");
    assert_int_equal(rights_hold(user, &message), 4);
    assert_int_equal(rights_hold_agent(user, "deploy-1", 8), 2);
    assert_int_equal(rights_hold_agent(user, "other", 5), 0);
    assert_true(rights_hold_any(user) && !rights_hold_any(users_at(users, 1)));
    users_drop(users);
}

static void levels_and_admin(void **state) {
    (void)state;
    const struct user *user;
    struct users *users = read_text("[user u]\nlevel = supervised\nadmin = yes\n", &user);
    assert_true(rights_level(user, GOVERNANCE_AUTONOMOUS).allowed);
    assert_true(rights_level(user, GOVERNANCE_SUPERVISED).allowed);
    assert_false(rights_level(user, GOVERNANCE_HUMAN).allowed);
    assert_int_equal(rights_level(user, GOVERNANCE_MANUAL).line, 2);
    assert_true(rights_admin(user).allowed);
    assert_int_equal(rights_admin(user).line, 3);
    users_drop(users);
}

static void rules_have_names(void **state) {
    (void)state;
    assert_string_equal(rule_text(RULE_REGISTER), "register");
    assert_string_equal(rule_text(RULE_SOURCE_AGENT), "sourceAgent");
    for (enum rule rule = 0; rule < RULES_COUNT; rule++)
        assert_non_null(rule_text(rule));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_given_unnamed),
        cmocka_unit_test(registering),
        cmocka_unit_test(each_pattern_is_of_one_kind),
        cmocka_unit_test(a_denial_of_anything_named_wins),
        cmocka_unit_test(only_the_deciding_address_is_permitted),
        cmocka_unit_test(names_longer_than_any),
        cmocka_unit_test(patterns_of_events),
        cmocka_unit_test(the_gates_event),
        cmocka_unit_test(what_is_held),
        cmocka_unit_test(levels_and_admin),
        cmocka_unit_test(rules_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
