// Delays double up to a bound, and begin anew after a while; failures in a row have a limit.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/child/child_settings.h"

static const struct restart_policy policy = {
    .delay_ms = 100, .delay_max_ms = 1000, .healthy_ms = 60000, .limit = 6};

static void delays_double(void **state) {
    (void)state;
    struct restart restart = {0};
    static const uint64_t delays[] = {100, 200, 400, 800, 1000, 1000};
    uint64_t delay;
    for (size_t index = 0; index < sizeof delays / sizeof *delays; index++) {
        assert_true(restart_ended(&restart, &policy, 59999, true, &delay));
        assert_int_equal(delay, delays[index]);
    }
    assert_false(restart_ended(&restart, &policy, 0, true, &delay));
}

static void being_well_forgets(void **state) {
    (void)state;
    struct restart restart = {0};
    uint64_t delay;
    for (unsigned round = 0; round < 20; round++) {
        assert_true(restart_ended(&restart, &policy, 60000, true, &delay));
        assert_int_equal(delay, 100);
    }
}

static void what_is_no_failure_only_waits(void **state) {
    (void)state;
    struct restart restart = {0};
    uint64_t delay = 0;
    for (unsigned round = 0; round < 20; round++)
        assert_true(restart_ended(&restart, &policy, 10, false, &delay));
    assert_int_equal(delay, 1000);
    assert_int_equal(restart.failures, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(delays_double), cmocka_unit_test(being_well_forgets),
                                       cmocka_unit_test(what_is_no_failure_only_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
