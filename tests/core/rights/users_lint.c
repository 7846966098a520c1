// Lines of a users file without effect, and questions in words.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rights/rights_explain.h"
#include "core/rights/users_lint.h"

static const struct siphash_key key = {{1, 2}};

static void note(void *context, const struct users_fault *fault) {
    char *told = context;
    size_t used = strlen(told);
    snprintf(told + used, 300 - used, "%u: %.12s\n", fault->line, fault->expected);
}

static void no_fault(void *context, const struct users_fault *fault) {
    (void)context;
    fail_msg("line %u: %s", fault->line, fault->expected);
}

// A user with a credential, and what stands in its section from line 3 on.
static void review(const char *section, const char *expected) {
    char text[400], told[300] = "";
    int bytes = snprintf(text, sizeof text, "[user u]\nuid = 1\n%s", section);
    struct users *users = users_read(text, (size_t)bytes, &key, NULL, no_fault, NULL);
    users_judge_by(users);
    assert_true(users_lint(text, (size_t)bytes, note, told));
    if (strcmp(told, expected) != 0)
        fail_msg("%s\nis told:\n%s", text, told);
    users_drop(users);
}

static void what_says_something(void **state) {
    (void)state;
    review("register = ci-*\noffer = @a\ncall = @testing, review-*, tool:lint, method:tests/*\n"
           "publish = build-*\nsubscribe = build-*\nlevel = supervised\n",
           "");
    review("roles = r\n[role r]\ncall = x\ndeny-call = method:y\n", "");
    review("call = @a\ndeny-call = one\n", "");               // one of the group
    review("call = tool:a\ndeny-call = method:tool/*\n", ""); // as which it is sent
    review("call = a*\ndeny-call = ab, abc*, tool:x, method:y\n", "");
    review("hold = a, event:e\ncall = a*\npublish = *\n[user v]\nuid = 2\nadmin = yes\n", "");
    review("roles = r\ncall = x\n[role r]\ndeny-call = x\n", ""); // which another user's role gives it
}

static void denials_of_nothing(void **state) {
    (void)state;
    review("deny-call = a\n", "3: it denies no\n");
    review("call = a\ndeny-call = b\n", "4: it denies no\n");
    review("call = a\ndeny-call = @b\n", "4: it denies no\n");
    review("call = @a\ndeny-call = @b\n", "4: it denies no\n");
    review("call = tool:a\ndeny-call = method:x\n", "4: it denies no\n");
    review("register = a\ndeny-register = b*\n", "4: it denies no\n");
    review("register = a\ndeny-publish = a\n", "4: it denies no\n");
    review("register = a\noffer = @a\ndeny-offer = tool:a\n", "5: it denies no\n");
    review("roles = r\n[role r]\ndeny-call = y\n[role s]\ncall = y\n", "5: it denies no\n6: nobody has t\n");
}

static void patterns_in_vain(void **state) {
    (void)state;
    review("call = a*, ab\n", "3: another patt\n");
    review("call = a*\ncall = a*\n", "4: another patt\n");
    review("call = a\ndeny-call = a\n", "3: all that it \n");
    review("call = ab, c\ndeny-call = a*\n", "3: all that it \n");
    review("call = @a, tool:a, method:a, a\n", "");
}

static void names_that_look_like_others(void **state) {
    (void)state;
    review("call = event:x\n", "3: here this is\n");
    review("call = tools:x\n", "3: here this is\n");
    review("publish = @x\n", "3: here this is\n");
    review("subscribe = event:x\n", "3: here this is\n");
    review("call = method:hub/stats\n", "3: the hub answ\n");
    review("call = method:initialize\n", "3: the hub answ\n");
    review("call = method:event\n", "3: who may send\n");
    review("call = method:event*\n", "");
}

static void holds_in_vain(void **state) {
    (void)state;
    static const char admin[] = "[user v]\nuid = 2\nadmin = yes\n";
    char text[200];
    static const char *const vain[] = {"hold = a", "call = b\nhold = a", "call = x\nhold = event:x",
                                       "publish = x\nhold = event:y", "call = tool:x\nhold = tool:y"};
    for (size_t at = 0; at < sizeof vain / sizeof *vain; at++) {
        char told[300];
        snprintf(text, sizeof text, "%s\n%s", vain[at], admin);
        snprintf(told, sizeof told, "%d: it holds not\n", strchr(vain[at], '\n') ? 4 : 3);
        review(text, told);
    }
    review("call = a\nhold = a\nadmin = yes\n", "4: nobody else \n");
}

static void users_roles_and_credentials(void **state) {
    (void)state;
    review("uid = 2\nuid = 1\n", "4: the user has\n");
    review("[user nobody]\ncall = a\n", "3: it has no cr\n");
    review("[role r]\ncall = a\n", "3: nobody has t\n");
    review("offer = @a\n", "3: it offers no\n");
}

// --- Questions

static const char text[] =
    "[user u]\nregister = ci-*\noffer = @a\ncall = review-*, @b\ndeny-call = method:x\n"
    "publish = build-*\nsubscribe = build-*\nhold = review-2, event:build-x, method:z\n"
    "level = supervised\nadmin = yes\n";

static void questions(void **state) {
    (void)state;
    static const struct {
        const char *question;
        bool allowed;
        uint32_t line, held;
    } table[] = {
        {"call review-1", true, 4, 0},
        {" call  review-1  method:m ", true, 4, 0},
        {"call review-1 method:x", false, 5, 0},
        {"call method:m", false, 0, 0},
        {"call @b tool:t", true, 4, 0},
        {"call review-2", true, 4, 8},
        {"call review-1 method:z", true, 4, 8},
        {"register ci-1", true, 2, 0},
        {"register c", false, 0, 0},
        {"offer @a", true, 3, 0},
        {"offer tool:a", false, 0, 0},
        {"publish build-x", true, 6, 8},
        {"publish build-y", true, 6, 0},
        {"publish x", false, 0, 0},
        {"subscribe build-*", true, 7, 0},
        {"subscribe *", false, 0, 0},
        {"level autonomous", true, 9, 0},
        {"level manual", false, 9, 0},
        {"admin", true, 10, 0},
        {"hold event:build-x", true, 0, 8},
        {"hold other", true, 0, 0},
    };
    struct users *users = users_read(text, sizeof text - 1, &key, NULL, no_fault, NULL);
    users_judge_by(users);
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        struct rights_explain_answer answer;
        assert_null(rights_explain(users_at(users, 0), table[row].question, &answer));
        if (answer.verdict.allowed != table[row].allowed || answer.verdict.line != table[row].line ||
            answer.held != table[row].held)
            fail_msg("%s: %d by %u, held by %u", table[row].question, answer.verdict.allowed,
                     answer.verdict.line, answer.held);
    }
    users_drop(users);
}

static void what_is_no_question(void **state) {
    (void)state;
    static const char *const questions[] = {
        "",          "call",        "calls a",       "call a b", "call @",
        "call a*",   "register @a", "register a b",  "offer a",  "level strict",
        "admin now", "publish",     "subscribe a*b", "hold",     "call a!"};
    struct users *users = users_read(text, sizeof text - 1, &key, NULL, no_fault, NULL);
    users_judge_by(users);
    for (size_t at = 0; at < sizeof questions / sizeof *questions; at++) {
        struct rights_explain_answer answer;
        if (!rights_explain(users_at(users, 0), questions[at], &answer))
            fail_msg("'%s' was answered", questions[at]);
    }
    users_drop(users);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_says_something), cmocka_unit_test(denials_of_nothing),
        cmocka_unit_test(patterns_in_vain),    cmocka_unit_test(names_that_look_like_others),
        cmocka_unit_test(holds_in_vain),       cmocka_unit_test(users_roles_and_credentials),
        cmocka_unit_test(questions),           cmocka_unit_test(what_is_no_question),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
