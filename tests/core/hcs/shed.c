// When a client is over, and what is shed for it then.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/hcs/hcs_flow.h"

static void it_is_over_from_half_until_a_quarter(void **state) {
    (void)state;
    assert_false(shed_is_over(false, 499, 1000));
    assert_true(shed_is_over(false, 500, 1000));
    assert_true(shed_is_over(true, 499, 1000));
    assert_true(shed_is_over(true, 250, 1000));
    assert_false(shed_is_over(true, 249, 1000));
    assert_false(shed_is_over(true, 0, 1)); // nothing waits
    assert_false(shed_is_over(false, 0, 1));
}

static void the_finest_is_shed_first(void **state) {
    (void)state;
    assert_false(shed_drops(LOD_ATOMIC, 499, 1000));
    assert_true(shed_drops(LOD_ATOMIC, 500, 1000));
    assert_false(shed_drops(LOD_MICRO, 749, 1000));
    assert_true(shed_drops(LOD_MICRO, 750, 1000));
    assert_false(shed_drops(LOD_KEPT, 100000, 1000));
    assert_false(shed_drops(LOD_ATOMIC, 0, 1));
}

static void what_was_shed_is_counted(void **state) {
    (void)state;
    struct shed shed = {0};
    assert_false(shed_any(&shed));
    shed_note(&shed, LOD_MICRO, 5);
    shed_note(&shed, LOD_ATOMIC, 6);
    shed_note(&shed, LOD_ATOMIC, 9);
    assert_true(shed_any(&shed));
    assert_int_equal(shed.atomic, 2);
    assert_int_equal(shed.micro, 1);
    assert_int_equal(shed.from, 5);
    assert_int_equal(shed.to, 9);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_over_from_half_until_a_quarter),
        cmocka_unit_test(the_finest_is_shed_first),
        cmocka_unit_test(what_was_shed_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
