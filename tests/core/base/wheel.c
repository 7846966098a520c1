// The timer wheel against the plain rule: a timer expires at the first call at or after its time, and not
// before.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/wheel.h"

enum { TIMERS = 400 };

static uint64_t numbers = 1;

static uint64_t next_number(void) {
    numbers ^= numbers << 13;
    numbers ^= numbers >> 7;
    numbers ^= numbers << 17;
    return numbers;
}

static void timers_expire_in_their_time(void **state) {
    (void)state;
    static const uint64_t starts[] = {0, 1, 63, 64, 4095, 262143, UINT64_C(1) << 30, UINT64_C(12345678901)};
    for (size_t start = 0; start < sizeof starts / sizeof *starts; start++) {
        struct wheel wheel;
        struct timer timer;
        for (uint64_t wait = 0; wait < 20000; wait = wait < 200 ? wait + 1 : wait * 3 / 2) {
            wheel_init(&wheel, starts[start]);
            timer_init(&timer, 3);
            wheel_arm(&wheel, &timer, starts[start] + wait);
            if (wait)
                assert_null(wheel_expire(&wheel, starts[start] + wait - 1));
            assert_true(wheel_next(&wheel) <= starts[start] + wait);
            assert_ptr_equal(wheel_expire(&wheel, starts[start] + wait), &timer);
            assert_false(timer_armed(&timer));
            assert_null(wheel_expire(&wheel, starts[start] + wait + 1000));
        }
    }
}

// Arms, disarms and passes time at random, and compares with a table.
static void any_sequence_agrees_with_a_table(void **state) {
    (void)state;
    static struct timer timers[TIMERS];
    static uint64_t due[TIMERS]; // 0: not armed
    struct wheel wheel;
    uint64_t now = 1000;
    wheel_init(&wheel, now);
    for (size_t index = 0; index < TIMERS; index++)
        timer_init(&timers[index], 0);
    for (unsigned round = 0; round < 30000; round++) {
        size_t which = next_number() % TIMERS;
        uint64_t far = UINT64_C(1) << next_number() % 24;
        if (next_number() % 3) {
            due[which] = now + next_number() % far;
            wheel_arm(&wheel, &timers[which], due[which]);
        } else {
            due[which] = 0;
            wheel_disarm(&timers[which]);
        }
        now += next_number() % 8 ? next_number() % 50 : next_number() % far;
        for (struct timer *timer; (timer = wheel_expire(&wheel, now));) {
            size_t expired = (size_t)(timer - timers);
            assert_true(due[expired] && due[expired] <= now);
            due[expired] = 0;
        }
        uint64_t next = UINT64_MAX;
        for (size_t index = 0; index < TIMERS; index++) {
            assert_true(!due[index] || due[index] > now);
            if (due[index] && due[index] < next)
                next = due[index];
        }
        assert_true(wheel_next(&wheel) <= next && wheel_next(&wheel) > now);
    }
}

static void an_empty_wheel_has_no_next(void **state) {
    (void)state;
    struct wheel wheel;
    struct timer timer;
    wheel_init(&wheel, 77);
    assert_true(wheel_next(&wheel) == UINT64_MAX);
    timer_init(&timer, 0);
    wheel_arm(&wheel, &timer, 5); // in the past
    assert_true(wheel_next(&wheel) <= 77);
    assert_ptr_equal(wheel_expire(&wheel, 77), &timer);
}

static void beyond_the_horizon_is_cut_to_it(void **state) {
    (void)state;
    struct wheel wheel;
    struct timer timer;
    uint64_t horizon = UINT64_C(1) << (WHEEL_BITS * WHEEL_LEVELS);
    for (uint64_t now = 0; now < 3; now++) {
        wheel_init(&wheel, now * 123456789);
        timer_init(&timer, 0);
        wheel_arm(&wheel, &timer, UINT64_MAX);
        assert_null(wheel_expire(&wheel, now * 123456789 + horizon - 2));
        assert_ptr_equal(wheel_expire(&wheel, now * 123456789 + horizon), &timer);
    }
}

static void an_expired_timer_that_was_not_taken_can_be_disarmed(void **state) {
    (void)state;
    struct wheel wheel;
    struct timer timers[2];
    wheel_init(&wheel, 0);
    for (unsigned index = 0; index < 2; index++) {
        timer_init(&timers[index], 0);
        wheel_arm(&wheel, &timers[index], 10);
    }
    struct timer *first = wheel_expire(&wheel, 10);
    assert_non_null(first);
    wheel_disarm(first == &timers[0] ? &timers[1] : &timers[0]);
    assert_null(wheel_expire(&wheel, 1000));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timers_expire_in_their_time),
        cmocka_unit_test(any_sequence_agrees_with_a_table),
        cmocka_unit_test(an_empty_wheel_has_no_next),
        cmocka_unit_test(beyond_the_horizon_is_cut_to_it),
        cmocka_unit_test(an_expired_timer_that_was_not_taken_can_be_disarmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
