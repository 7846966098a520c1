// Which agents a message may not reach at another hub, as hubs tell each other.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/remote_acl.h"

static void no_fault(void *context, const struct users_fault *fault) {
    (void)context;
    fail_msg("line %u: %s", fault->line, fault->expected);
}

static struct users *read_text(const char *text) {
    static const struct siphash_key key = {{1, 2}};
    struct users *users = users_read(text, strlen(text), &key, NULL, no_fault, NULL);
    users_judge_by(users);
    return users;
}

static void expect_written(const char *lines, const char *expected) {
    char text[512], out[REMOTE_ACL_BYTES_MAX];
    snprintf(text, sizeof text, "[user u]\n%s", lines);
    struct users *users = read_text(text);
    int bytes = remote_acl_write(out, users_at(users, 0));
    assert_int_equal(bytes, strlen(expected));
    assert_memory_equal(out, expected, strlen(expected));
    assert_int_equal(remote_acl_is_needed(users_at(users, 0)), bytes > 0);
    users_drop(users);
}

static void what_names_agents_is_written(void **state) {
    (void)state;
    expect_written("call = a\n", "");
    expect_written("deny-call = @c, tool:t, method:m\nhold = @c, event:e\n", "");
    expect_written("deny-call = b, a-*, @c\n", " deny=a-*,b");
    expect_written("hold = x, y\ndeny-call = *\n", " deny=* hold=x,y");
}

// More than can be told isn't told in part.
static void too_much_is_not_told(void **state) {
    char text[32 * 1024], out[REMOTE_ACL_BYTES_MAX];
    (void)state;
    for (unsigned count = REMOTE_ACL_PATTERNS_MAX; count <= REMOTE_ACL_PATTERNS_MAX + 1; count++) {
        int at = snprintf(text, sizeof text, "[user u]\nhold = z\n");
        for (unsigned index = 0; index < count; index++)
            at += snprintf(text + at, sizeof text - (size_t)at, "deny-call = a%u\n", index);
        struct users *users = read_text(text);
        assert_int_equal(remote_acl_write(out, users_at(users, 0)) != REMOTE_ACL_UNTOLD,
                         count == REMOTE_ACL_PATTERNS_MAX);
        users_drop(users);
    }
    for (int bytes = 250; bytes <= 255;
         bytes += 5) { // four of them, their keys and signs between them, fill it, or are too many
        snprintf(text, sizeof text, "[user u]\nhold = %0*d, %0*d, %0*d, %0*d\n", bytes, 1, bytes, 2, bytes, 3,
                 bytes, 4);
        struct users *users = read_text(text);
        assert_int_equal(remote_acl_write(out, users_at(users, 0)) != REMOTE_ACL_UNTOLD, bytes == 250);
        users_drop(users);
    }
}

static void read(struct remote_acl *acl, const char *denied, const char *held) {
    static char bytes[4096];
    snprintf(bytes, sizeof bytes, "%s|%s", denied, held);
    uint32_t first = (uint32_t)strlen(denied), second = (uint32_t)strlen(held);
    remote_acl_read(acl, (const uint8_t *)bytes, (struct span){0, first}, (struct span){first + 1, second});
}

static void what_is_written_is_heeded(void **state) {
    static struct remote_acl acl;
    (void)state;
    read(&acl, "a-*,b", "");
    assert_true(remote_acl_denies(&acl, "a-1", 3) && remote_acl_denies(&acl, "b", 1));
    assert_false(remote_acl_denies(&acl, "a", 1) || remote_acl_denies(&acl, "bb", 2));
    assert_false(remote_acl_holds(&acl, "b", 1));
    read(&acl, "", "x,y*");
    assert_true(remote_acl_holds(&acl, "x", 1) && remote_acl_holds(&acl, "yes", 3));
    assert_false(remote_acl_denies(&acl, "x", 1) || remote_acl_holds(&acl, "z", 1));
    acl.approved = true;
    assert_false(remote_acl_holds(&acl, "x", 1));
    read(&acl, "*", "");
    assert_true(remote_acl_denies(&acl, "anybody", 7));
}

static void what_cant_be_read_denies_all(void **state) {
    static struct remote_acl acl;
    char many[2 * (REMOTE_ACL_PATTERNS_MAX + 1)], large[PATTERN_BYTES_MAX + 3];
    (void)state;
    for (unsigned at = 0; at < sizeof many - 1; at++)
        many[at] = at % 2 ? ',' : 'a';
    many[sizeof many - 1] = '\0';
    memset(large, 'a', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    const char *const texts[] = {",", "a,", ",a", "a,,b", many, large};
    for (size_t at = 0; at < sizeof texts / sizeof *texts; at++) {
        read(&acl, texts[at], "");
        assert_true(remote_acl_denies(&acl, "z", 1));
        read(&acl, "", texts[at]);
        assert_true(remote_acl_denies(&acl, "z", 1) && remote_acl_holds(&acl, "z", 1));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_names_agents_is_written),
        cmocka_unit_test(too_much_is_not_told),
        cmocka_unit_test(what_is_written_is_heeded),
        cmocka_unit_test(what_cant_be_read_denies_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
