// The users file: what it may say, and that what is wrong in it is told by its line.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/memory.h"
#include "core/rights/digest.h"
#include "core/rights/rights.h"

#define ABC "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc"

static const struct siphash_key key = {{1, 2}};

// The lines that have faults, and what was said of the last one.
struct told {
    char lines[200];
    const char *expected;
};

static void note(void *context, const struct users_fault *fault) {
    struct told *told = context;
    size_t used = strlen(told->lines);
    snprintf(told->lines + used, sizeof told->lines - used, "%s%u", used ? " " : "", fault->line);
    told->expected = fault->expected;
}

static struct users *read_text(const char *text, struct told *told) {
    *told = (struct told){0};
    return users_read(text, strlen(text), &key, NULL, note, told);
}

static struct users *good(const char *text) {
    struct told told;
    struct users *users = read_text(text, &told);
    assert_string_equal(told.lines, "");
    assert_non_null(users);
    users_judge_by(users);
    return users;
}

// The example of the documentation.
static const char example[] = "[user ci]                          ; or [role NAME]\n"
                              "token = " ABC "     ; repeatable\n"
                              "certificate = ci.example           ; a name\n"
                              "uid = 1000\n"
                              "register = ci-*, build-agent       ; patterns\n"
                              "offer = @testing, method:tests/*\n"
                              "call = @testing, review-*, tool:lint, method:tests/*\n"
                              "publish = build-*\n"
                              "subscribe = build-*, task-*\n"
                              "hold = deploy-*, method:deploy/*\n"
                              "level = supervised\n"
                              "admin = yes\n"
                              "rate = 1000/s\n"
                              "bytes = 16M/s\n"
                              "fanout = 100000/s\n"
                              "connections = 50\n"
                              "pending = 1000\n";

static void all_of_it(void **state) {
    (void)state;
    struct users *users = good(example);
    assert_int_equal(users_count(users), 1);
    const struct user *ci = users_at(users, 0);
    assert_string_equal(ci->name, "ci");
    assert_int_equal(users_rights(ci)->line, 1);
    assert_ptr_equal(users_by_name(users, "ci", 2), ci);
    assert_ptr_equal(users_by_token(users, "abc", 3), ci);
    assert_ptr_equal(users_by_certificate(users, "ci.example", 10), ci);
    assert_ptr_equal(users_by_uid(users, 1000), ci);
    assert_int_equal(users_hold_line(users), 10);
    assert_true(users_rights(ci)->admin && users_have_certificates(users));
    assert_int_equal(users_rights(ci)->admin_line, 12);
    assert_int_equal(users_rights(ci)->level, GOVERNANCE_SUPERVISED);
    assert_int_equal(users_rights(ci)->level_line, 11);
    assert_int_equal(users_rights(ci)->limits.rate, 1000);
    assert_int_equal(users_rights(ci)->limits.bytes, 16 << 20);
    assert_int_equal(users_rights(ci)->limits.fanout, 100000);
    assert_int_equal(users_rights(ci)->limits.connections, 50);
    assert_int_equal(users_rights(ci)->limits.pending, 1000);
    assert_int_equal(rights_register(ci, "build-agent", 11).line, 5);
    users_drop(users);
}

static void who_has_no_such_credential(void **state) {
    (void)state;
    struct users *users = good(example);
    assert_null(users_by_name(users, "c", 1));
    assert_null(users_by_name(users, "cii", 3));
    assert_null(users_by_token(users, "abd", 3));
    assert_null(users_by_token(users, "ab", 2));
    assert_null(users_by_token(users, "", 0));
    assert_null(users_by_certificate(users, "ci.example\0", 11));
    assert_null(users_by_certificate(users, "CI.example", 10));
    assert_null(users_by_certificate(users, "ci.exampl", 9));
    assert_null(users_by_certificate(users, "", 0));
    assert_null(users_by_uid(users, 0));
    assert_null(users_by_uid(users, 1001));
    users_drop(users);
}

// Each of a thousand users is found by its credentials, and by nothing else.
static void many_users(void **state) {
    (void)state;
    enum { MANY = 1000 };
    char *text = calloc(MANY, 200), *at = text, name[32], digits[DIGEST_TEXT_BYTES + 1] = "";
    struct digest digest;
    for (int number = 0; number < MANY; number++) {
        snprintf(name, sizeof name, "token %d", number);
        assert_true(digest_make(name, strlen(name), &digest));
        digest_text(&digest, digits);
        at += sprintf(at, "[user u%d]\ntoken=%s\ncertificate=c%d\nuid=%d\n", number, digits, number,
                      7 * number);
    }
    struct users *users = good(text);
    assert_int_equal(users_count(users), MANY);
    for (int number = 0; number < MANY; number++) {
        const struct user *user = users_at(users, (uint32_t)number);
        snprintf(name, sizeof name, "token %d", number);
        assert_ptr_equal(users_by_token(users, name, strlen(name)), user);
        snprintf(name, sizeof name, "c%d", number);
        assert_ptr_equal(users_by_certificate(users, name, strlen(name)), user);
        *name = 'u';
        assert_ptr_equal(users_by_name(users, name, strlen(name)), user);
        assert_ptr_equal(users_by_uid(users, 7 * (uint32_t)number), user);
        assert_null(users_by_uid(users, 7 * (uint32_t)number + 1));
    }
    users_drop(users);
    free(text);
}

static void roles_add_up(void **state) {
    (void)state;
    struct users *users =
        good("[user one]\nroles = a, b\ncall = x\nlevel = manual\nrate = 5/s\n"
             "[role a]\ncall = y\nlevel = supervised\nbytes = 1K/s\nfanout = 7/s\n"
             "[role b]\ndeny-call = x\ncall = z\nfanout = 8/s\nadmin = yes\nconnections = 3\n"
             "[user two]\nroles = b, a\nadmin = no\nlevel = manual\n"
             "[user three]\ncall = x y\ncall = z\n");
    const struct user *one = users_at(users, 0), *two = users_at(users, 1), *three = users_at(users, 2);
    assert_false(rights_reach(one, "x", 1).allowed);
    assert_int_equal(rights_reach(one, "x", 1).line, 12);
    struct right_call call = {.by = KIND_AGENT, .names[KIND_AGENT] = {true, "y", 1}};
    assert_int_equal(rights_call(one, &call).line, 7);
    assert_true(rights_call(two, &call).allowed && rights_call(three, &call).allowed);
    call.names[KIND_AGENT].text = "x";
    assert_false(rights_call(one, &call).allowed);
    assert_true(rights_call(three, &call).allowed);
    call.names[KIND_AGENT].text = "z";
    assert_int_equal(rights_call(one, &call).line, 13);
    assert_int_equal(rights_call(three, &call).line, 23);
    assert_int_equal(users_rights(one)->level, GOVERNANCE_MANUAL);
    assert_true(users_rights(one)->admin && !users_rights(two)->admin && !users_rights(three)->admin);
    assert_int_equal(users_rights(one)->limits.rate, 5);
    assert_int_equal(users_rights(one)->limits.bytes, 1024);
    assert_int_equal(users_rights(one)->limits.fanout, 7);
    assert_int_equal(users_rights(two)->limits.fanout, 8);
    assert_int_equal(users_rights(two)->limits.connections, 3);
    assert_int_equal(users_rights(three)->limits.connections, 0);
    assert_int_equal(users_rights(three)->level, GOVERNANCE_MANUAL);
    assert_false(users_hold_line(users) || users_have_certificates(users));
    users_drop(users);
}

static void as_people_write(void **state) {
    (void)state;
    struct users *users =
        good("\xef\xbb\xbf; a file\r\n\r\n# of lines\r\n  [user  a/b@c ]  ; x\r\n\tcall=*,\t@* ;y\r\n"
             "  ; register = x\r\npublish = a;b\n[user b]\nuid=4294967294");
    const struct user *user = users_at(users, 0);
    assert_string_equal(user->name, "a/b@c");
    assert_int_equal(rights_publish(user, "a;b", 3).line, 7);
    assert_true(rights_reach_all(user) && !rights_register(user, "x", 1).allowed);
    assert_ptr_equal(users_by_uid(users, 4294967294), users_at(users, 1));
    users_drop(users);
}

// Each is a section and one line, which is the second.
static void values_that_cant_be_read(void **state) {
    (void)state;
    static const char *const lines[] = {
        "tokens = x",
        "call x",
        "= x",
        "call =",
        "call = ,",
        "call = a*b",
        "call = **",
        "call = @",
        "call = tool:",
        "call = a..b",
        "call = .*x",
        "call = a!",
        "call = @a\x01",
        "register = @x",
        "register = tool:x",
        "register = a..*",
        "offer = a",
        "offer = *",
        "offer = event:x",
        "hold = event:",
        "roles = a!",
        "roles =",
        "roles = nobody",
        "level = strict",
        "level =",
        "admin = maybe",
        "admin =",
        "rate = 1000",
        "rate = /s",
        "rate = 0/s",
        "rate = -1/s",
        "rate = 1001M/s",
        "rate = 10000000000/s",
        "bytes = 5X/s",
        "bytes = 10/m",
        "fanout = 1K/s",
        "connections = 0",
        "connections = many",
        "pending = -1",
        "pending = 99999999999",
        "uid = root",
        "uid = 4294967295",
        "uid =",
        "certificate =",
        "token = abc",
        "token = sha256:ba78",
        "token =",
        "token = sha512:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "deny-hold = x",
        "deny-level = manual",
        "Call = x",
        "call = \xff",
        "level = manual extra",
        "call = x\x7f",
    };
    char text[300];
    struct told told;
    for (size_t at = 0; at < sizeof lines / sizeof *lines; at++) {
        snprintf(text, sizeof text, "[user u]\n%s\n", lines[at]);
        assert_null(read_text(text, &told));
        if (strcmp(told.lines, "2") != 0)
            fail_msg("'%s' is told as '%s'", lines[at], told.lines);
        assert_non_null(told.expected);
    }
    assert_null(users_read("[user u]\na\0b\n", 13, &key, NULL, note, &told));
}

static void files_that_cant_be(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"", "0"},
        {"\n; nobody\n", "2"},
        {"[role r]\ncall = x\n", "2"},
        {"call = x\n[user u]\n", "1"},
        {"[user]\n", "1"},
        {"[user ]\n", "1"},
        {"[user u\n", "1"},
        {"[user u] x\n", "1"},
        {"[user a b]\n", "1"},
        {"[user a\"b]\n", "1"},
        {"[child c]\ncommand = x\n", "1 2"},
        {"[users u]\n", "1"},
        {"[user u]\n[role u]\n[user v]\n[user u]\n[role u]\n", "4 5"},
        {"[user u]\nlevel = manual\nlevel = manual\n", "3"},
        {"[role r]\ntoken = " ABC "\nuid = 1\ncertificate = x\nroles = r\n[user u]\n", "2 3 4 5"},
        {"[user u]\ntoken = " ABC
         "\n[user v]\ntoken = sha256:BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61"
         "F20015AD\n",
         "4"},
        {"[user u]\nuid = 7\n[user v]\nuid = 07\n", "4"},
        {"[user u]\ncertificate = x\n[user v]\nuid = 3\ncertificate = x ; y\n", "5"},
        {"[user u]\nroles = a\nuid = x\ncall = !\n[user u]\n", "2 3 4 5"},
    };
    struct told told;
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        assert_null(read_text(table[row][0], &told));
        if (strcmp(told.lines, table[row][1]) != 0)
            fail_msg("'%s' is told as '%s'", table[row][0], told.lines);
    }
}

static void a_credential_twice(void **state) {
    (void)state;
    struct users *users = good("[user u]\nuid = 7\nuid = 7\nuid = 8\ntoken = " ABC "\ntoken = " ABC "\n");
    assert_ptr_equal(users_by_uid(users, 7), users_at(users, 0));
    assert_ptr_equal(users_by_uid(users, 8), users_at(users, 0));
    assert_ptr_equal(users_by_token(users, "abc", 3), users_at(users, 0));
    users_drop(users);
}

// Debts aren't forgotten when the file is read again.
static void accounts_stay(void **state) {
    (void)state;
    struct told told = {0};
    struct users *before = good("[user a]\nrate = 1/s\n[user b]\n[user c]\n");
    static const char text[] = "[user c]\n[user d]\n[user a]\nrate = 2/s\n";
    struct users *after = users_read(text, strlen(text), &key, before, note, &told);
    const struct user *a = users_by_name(after, "a", 1);
    assert_ptr_equal(a->account, users_at(before, 0)->account);
    assert_ptr_equal(users_at(after, 0)->account, users_at(before, 2)->account);
    assert_ptr_not_equal(users_at(after, 1)->account, users_at(before, 1)->account);
    users_hold(before);
    users_drop(before);
    users_drop(before);
    enum account_limit over;
    assert_int_equal(account_message(a->account, &users_rights_at(after, 2)->limits, 1, 0, &over), 0);
    users_drop(after);
}

// A user stays where it is from file to file, also while it is gone. Each file says what it says.
static void users_stay(void **state) {
    (void)state;
    struct told told = {0};
    static const char without[] = "[user b]\nadmin = no\n[user c]\n",
                      again[] = "[user c]\n[user a]\nrate = 3/s\n";
    struct users *first = good("[user a]\nrate = 1/s\n[user b]\nadmin = yes\n");
    const struct user *a = users_by_name(first, "a", 1), *b = users_by_name(first, "b", 1);
    struct users *second = users_read(without, strlen(without), &key, first, note, &told);
    assert_int_equal(second->number, first->number + 1);
    assert_null(users_by_name(second, "a", 1));
    assert_ptr_equal(users_by_name(second, "b", 1), b);
    assert_true(users_rights(b)->admin);
    assert_ptr_equal(users_rights(users_by_name(second, "c", 1)), &users_no_rights);
    assert_ptr_equal(users_judge_by(second), first);
    assert_ptr_equal(users_rights(a), &users_no_rights);
    assert_false(users_rights(b)->admin);
    users_drop(first);
    assert_string_equal(a->name, "a");
    struct users *third = users_read(again, strlen(again), &key, second, note, &told);
    users_judge_by(third);
    users_drop(second);
    assert_ptr_equal(users_by_name(third, "a", 1), a);
    assert_int_equal(users_rights(a)->limits.rate, 3);
    assert_ptr_equal(users_rights(b), &users_no_rights);
    assert_int_equal(third->gone_count, 1);
    users_drop(third);
}

// Files without end take no more than the names that were ever in one.
static void users_come_and_go(void **state) {
    (void)state;
    struct told told = {0};
    struct users *users = good("[user keeper]\n");
    for (unsigned number = 0; number < 1000; number++) {
        char text[64];
        snprintf(text, sizeof text, "[user keeper]\n[user u%u]\nrate = %u/s\n", number % 50, number + 1);
        struct users *next = users_read(text, strlen(text), &key, users, note, &told);
        assert_non_null(next);
        users_drop(users);
        users = next;
    }
    assert_int_equal(users->gone_count, 49);
    assert_int_equal(users->place_count, 51);
    users_drop(users);
}

// No new names come when too many are gone. Those that are known do, and any may go.
static void too_many_are_gone(void **state) {
    (void)state;
    struct told told = {0};
    static const char few[] = "[user a]\n[user u7]\n", new[] = "[user a]\n[user b]\n", none[] = "[user u7]\n";
    enum { NAME_BYTES = 16 };
    char *text = malloc((USERS_GONE_MAX + 2) * (size_t)NAME_BYTES + 16);
    size_t bytes = (size_t)sprintf(text, "[user a]\n");
    for (unsigned number = 0; number <= USERS_GONE_MAX; number++)
        bytes += (size_t)sprintf(text + bytes, "[user u%x]\n", number);
    struct users *all = users_read(text, bytes, &key, NULL, note, &told);
    free(text);
    struct users *left = users_read(few, strlen(few), &key, all, note, &told);
    assert_int_equal(left->gone_count, USERS_GONE_MAX);
    assert_null(users_read(new, strlen(new), &key, left, note, &told));
    assert_string_equal(told.lines, "2");
    struct users *last = users_read(none, strlen(none), &key, left, note, &told);
    assert_int_equal(last->gone_count, USERS_GONE_MAX + 1);
    users_drop(all);
    users_drop(left);
    users_drop(last);
}

// Memory that isn't there is told, and all else given back.
static void without_memory(void **state) {
    (void)state;
    struct told told;
    for (uint64_t after = 0;; after++) {
        memory_fail(after, 1);
        struct users *users = read_text(example, &told);
        bool failed = memory_fail(UINT64_MAX, 0) == UINT64_MAX;
        if (!failed) {
            assert_non_null(users);
            users_drop(users);
            assert_true(after > 10);
            return;
        }
        assert_null(users);
        assert_string_equal(told.lines, "0");
    }
}

static void too_many_patterns(void **state) {
    (void)state;
    enum { USERS = 1100, PATTERNS = 1000 };
    char *text = malloc(USERS * 40 + PATTERNS * 10 + 40), *at = text + sprintf(text, "[role r]\ncall = ");
    struct told told;
    for (int number = 0; number < PATTERNS; number++)
        at += sprintf(at, "a%d ", number);
    for (int number = 0; number < USERS; number++)
        at += sprintf(at, "\n[user u%d]\nroles = r", number);
    assert_null(read_text(text, &told));
    assert_string_equal(told.lines, "2099"); // of the 1,049th user
    free(text);
}

static void users_know_the_text_that_they_are_of(void **state) {
    (void)state;
    static const char text[] = "[user u]\nrate = 5/s\n", other[] = "[user u]\nrate = 6/s\n";
    struct told told = {0};
    struct users *users = read_text(text, &told);
    assert_non_null(users);
    assert_true(users_are_of(users, text, strlen(text)));
    assert_false(users_are_of(users, text, strlen(text) - 1));
    assert_false(users_are_of(users, other, strlen(other)));
    users_drop(users);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it),
        cmocka_unit_test(who_has_no_such_credential),
        cmocka_unit_test(many_users),
        cmocka_unit_test(roles_add_up),
        cmocka_unit_test(as_people_write),
        cmocka_unit_test(values_that_cant_be_read),
        cmocka_unit_test(files_that_cant_be),
        cmocka_unit_test(a_credential_twice),
        cmocka_unit_test(accounts_stay),
        cmocka_unit_test(users_stay),
        cmocka_unit_test(users_come_and_go),
        cmocka_unit_test(too_many_are_gone),
        cmocka_unit_test(without_memory),
        cmocka_unit_test(too_many_patterns),
        cmocka_unit_test(users_know_the_text_that_they_are_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
