// Which hubs may ask each other: those with the same users file and the same gate.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/cluster/hub_name.h"

static struct realm made(const char *users, enum governance gate) {
    struct realm realm;
    assert_true(realm_make(&realm, users, strlen(users), gate));
    return realm;
}

static void a_hub_without_users_and_gate_has_the_number_of_the_protocol(void **state) {
    (void)state;
    struct realm realm = made("", GOVERNANCE_AUTONOMOUS);
    assert_int_equal(realm.bytes, 1);
    assert_int_equal(realm.text[0], '1');
}

static void each_file_and_each_gate_is_another_one(void **state) {
    (void)state;
    struct realm all[] = {made("", GOVERNANCE_AUTONOMOUS),
                          made("", GOVERNANCE_MANUAL),
                          made("", GOVERNANCE_HUMAN),
                          made("[user a]\n", GOVERNANCE_AUTONOMOUS),
                          made("[user a]\n", GOVERNANCE_MANUAL),
                          made("[user a]\n\n", GOVERNANCE_AUTONOMOUS)};
    for (size_t one = 0; one < sizeof all / sizeof *all; one++)
        for (size_t other = 0; other < sizeof all / sizeof *all; other++)
            assert_int_equal(realm_same(&all[one], &all[other]), one == other);
    for (size_t one = 1; one < sizeof all / sizeof *all; one++) {
        assert_int_equal(all[one].bytes, REALM_BYTES_MAX);
        assert_memory_equal(all[one].text, "1-", 2);
        for (size_t at = 2; at < all[one].bytes; at++)
            assert_non_null(memchr("0123456789abcdef", all[one].text[at], 16));
    }
    struct realm again = made("[user a]\n", GOVERNANCE_MANUAL);
    assert_true(realm_same(&all[4], &again));
}

// SHA-256 of "abc" begins ba7816bf 8f01cfea.
static void the_digits_are_of_sha_256(void **state) {
    (void)state;
    struct realm realm = made("abc", GOVERNANCE_AUTONOMOUS);
    assert_memory_equal(realm.text, "1-ba7816bf8f01cfea", REALM_BYTES_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hub_without_users_and_gate_has_the_number_of_the_protocol),
        cmocka_unit_test(each_file_and_each_gate_is_another_one),
        cmocka_unit_test(the_digits_are_of_sha_256),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
