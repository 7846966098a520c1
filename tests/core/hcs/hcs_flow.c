// Notes to a producer about its clients.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/hcs/hcs_flow.h"

static enum hcs_flow_state mood_of(uint32_t clients, uint32_t stuck, uint32_t over) {
    struct hcs_flow flow = {.clients = clients, .stuck = stuck, .over = over};
    return hcs_flow_state(&flow);
}

static void more_than_half_decide(void **state) {
    (void)state;
    assert_int_equal(mood_of(0, 0, 0), HCS_FLOW_GONE);
    assert_int_equal(mood_of(1, 0, 0), HCS_FLOW_READS);
    assert_int_equal(mood_of(1, 0, 1), HCS_FLOW_OVER);
    assert_int_equal(mood_of(2, 0, 1), HCS_FLOW_READS);
    assert_int_equal(mood_of(2, 0, 2), HCS_FLOW_OVER);
    assert_int_equal(mood_of(3, 0, 1), HCS_FLOW_READS);
    assert_int_equal(mood_of(3, 0, 2), HCS_FLOW_OVER);
    assert_int_equal(mood_of(4, 0, 2), HCS_FLOW_READS);
}

static void who_is_stuck_does_not_count(void **state) {
    (void)state;
    assert_int_equal(mood_of(3, 1, 1), HCS_FLOW_READS);
    assert_int_equal(mood_of(2, 1, 1), HCS_FLOW_OVER);
    assert_int_equal(mood_of(1, 1, 0), HCS_FLOW_READS);
}

static void clients_are_counted_once(void **state) {
    (void)state;
    struct hcs_flow flow = {0};
    hcs_flow_count(&flow, true, false, 1);
    hcs_flow_count(&flow, true, true, 1);
    hcs_flow_count(&flow, false, false, 1);
    assert_int_equal(flow.clients, 3);
    assert_int_equal(flow.over, 1);
    assert_int_equal(flow.stuck, 1);
    hcs_flow_count(&flow, true, true, -1);
    hcs_flow_count(&flow, true, false, -1);
    hcs_flow_count(&flow, false, false, -1);
    assert_int_equal(flow.clients + flow.over + flow.stuck, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_than_half_decide),
        cmocka_unit_test(who_is_stuck_does_not_count),
        cmocka_unit_test(clients_are_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
