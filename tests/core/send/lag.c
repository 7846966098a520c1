// Receivers that lag: much is left behind several sends in a row, until nearly all of it is gone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/send/outbox.h"

enum { MUCH = 1000 };

static void who_was_left_much_several_times_in_a_row_lags(void **state) {
    (void)state;
    unsigned lag = 0;
    for (unsigned count = 0; count < LAG_SENDS; count++) {
        assert_int_equal(lag, count);
        lag = lag_after(lag, MUCH + 1, MUCH);
    }
    assert_int_equal(lag, LAG_SENDS);
    assert_int_equal(lag_after(lag, UINT64_MAX, MUCH), LAG_SENDS);
}

// However much comes at a time.
static void who_keeps_up_in_between_does_not(void **state) {
    (void)state;
    unsigned lag = 0;
    for (unsigned round = 0; round < 20; round++) {
        lag = lag_after(lag, UINT64_MAX, MUCH);
        lag = lag_after(lag, UINT64_MAX, MUCH);
        assert_true(lag < LAG_SENDS);
        lag = lag_after(lag, MUCH, MUCH);
        assert_int_equal(lag, 0);
    }
}

static void who_lags_does_until_little_is_left(void **state) {
    (void)state;
    assert_int_equal(lag_after(LAG_SENDS, MUCH, MUCH), LAG_SENDS);
    assert_int_equal(lag_after(LAG_SENDS, MUCH / 4, MUCH), LAG_SENDS);
    assert_int_equal(lag_after(LAG_SENDS, MUCH / 4 - 1, MUCH), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_left_much_several_times_in_a_row_lags),
        cmocka_unit_test(who_keeps_up_in_between_does_not),
        cmocka_unit_test(who_lags_does_until_little_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
