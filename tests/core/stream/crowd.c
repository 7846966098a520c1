// What a producer is told of its clients.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/stream/crowd.h"

static enum crowd_mood mood_of(uint32_t clients, uint32_t stuck, uint32_t over) {
    struct crowd crowd = {.clients = clients, .stuck = stuck, .over = over};
    return crowd_mood(&crowd);
}

static void more_than_half_decide(void **state) {
    (void)state;
    assert_int_equal(mood_of(0, 0, 0), CROWD_GONE);
    assert_int_equal(mood_of(1, 0, 0), CROWD_READS);
    assert_int_equal(mood_of(1, 0, 1), CROWD_OVER);
    assert_int_equal(mood_of(2, 0, 1), CROWD_READS);
    assert_int_equal(mood_of(2, 0, 2), CROWD_OVER);
    assert_int_equal(mood_of(3, 0, 1), CROWD_READS);
    assert_int_equal(mood_of(3, 0, 2), CROWD_OVER);
    assert_int_equal(mood_of(4, 0, 2), CROWD_READS);
}

static void who_is_stuck_does_not_count(void **state) {
    (void)state;
    assert_int_equal(mood_of(3, 1, 1), CROWD_READS);
    assert_int_equal(mood_of(2, 1, 1), CROWD_OVER);
    assert_int_equal(mood_of(1, 1, 0), CROWD_READS);
}

static void clients_are_counted_once(void **state) {
    (void)state;
    struct crowd crowd = {0};
    crowd_count(&crowd, true, false, 1);
    crowd_count(&crowd, true, true, 1);
    crowd_count(&crowd, false, false, 1);
    assert_int_equal(crowd.clients, 3);
    assert_int_equal(crowd.over, 1);
    assert_int_equal(crowd.stuck, 1);
    crowd_count(&crowd, true, true, -1);
    crowd_count(&crowd, true, false, -1);
    crowd_count(&crowd, false, false, -1);
    assert_int_equal(crowd.clients + crowd.over + crowd.stuck, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_half_decide),
        cmocka_unit_test(who_is_stuck_does_not_count),
        cmocka_unit_test(clients_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
