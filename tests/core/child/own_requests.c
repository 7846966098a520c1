// Each question of the hub's own has an id of its own, is answered once, and so many are remembered.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/child/own_requests.h"

static void each_is_answered_once(void **state) {
    (void)state;
    struct own_requests asks = {0};
    uint64_t first = own_requests_begin(&asks), second = own_requests_begin(&asks);
    assert_int_equal(first, (UINT64_C(1) << 53) - 1);
    assert_int_not_equal(first, second);
    assert_true(own_requests_end(&asks, second));
    assert_false(own_requests_end(&asks, second));
    assert_true(own_requests_end(&asks, first));
    assert_false(own_requests_end(&asks, first));
}

static void what_was_not_asked_is_none(void **state) {
    (void)state;
    struct own_requests asks = {0};
    static const uint64_t others[] = {0, 1, (UINT64_C(1) << 53) - 2, (UINT64_C(1) << 53), UINT64_MAX};
    assert_false(own_requests_end(&asks, (UINT64_C(1) << 53) - 1));
    uint64_t id = own_requests_begin(&asks);
    for (size_t index = 0; index < sizeof others / sizeof *others; index++)
        assert_false(own_requests_end(&asks, others[index]));
    own_requests_forget(&asks);
    assert_false(own_requests_end(&asks, id));
    assert_int_equal(own_requests_begin(&asks), id);
}

static void the_oldest_goes_for_one_more(void **state) {
    (void)state;
    static struct own_requests asks;
    uint64_t ids[2 * OWN_REQUESTS_MAX];
    for (uint64_t round = 0; round < 2 * OWN_REQUESTS_SPAN; round += 2 * OWN_REQUESTS_MAX) {
        for (size_t index = 0; index < 2 * OWN_REQUESTS_MAX; index++)
            ids[index] = own_requests_begin(&asks);
        for (size_t index = 0; index < OWN_REQUESTS_MAX; index++)
            assert_false(own_requests_end(&asks, ids[index]));
        for (size_t index = OWN_REQUESTS_MAX; index < 2 * OWN_REQUESTS_MAX; index++)
            assert_true(own_requests_end(&asks, ids[index]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_answered_once),
        cmocka_unit_test(what_was_not_asked_is_none),
        cmocka_unit_test(the_oldest_goes_for_one_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
