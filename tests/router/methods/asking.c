// Registrations that wait for other hubs' word: found by their name, their connection and the number of what was asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/methods/asking.h"

enum { ORDERS = 1000 }; // several in each chain

static const struct siphash_key key = {0};
static struct order orders[ORDERS];

static struct order *fill(unsigned at) {
    struct order *order = &orders[at];
    *order = (struct order){.kind = ORDER_REGISTER, .stage = ORDER_ASKED, .mail.connection = at / 2 + 1};
    order->agent_id_bytes = (uint32_t)sprintf(order->agent_id, "agent-%u", at);
    return order;
}

static void each_is_found_until_it_goes(void **state) {
    struct asking *asking = asking_create(&key);
    (void)state;
    assert_non_null(asking);
    for (unsigned at = 0; at < ORDERS; at++)
        asking_add(asking, fill(at));
    for (unsigned at = 0; at < ORDERS; at++)
        asking_sent(asking, &orders[at], at + 1, 7);
    for (unsigned at = 0; at < ORDERS; at++) {
        struct order *order = &orders[at];
        assert_ptr_equal(asking_find(asking, order->agent_id, order->agent_id_bytes), order);
        assert_ptr_equal(asking_number(asking, at + 1), order);
        assert_ptr_equal(asking_of(asking, order->mail.connection), &orders[at]);
        assert_int_equal(asking_count(asking, order->mail.connection), at % 2 ? 1 : 2);
        asking_remove(order);
        assert_int_equal(asking_count(asking, order->mail.connection), at % 2 ? 0 : 1);
        assert_null(asking_find(asking, order->agent_id, order->agent_id_bytes));
        assert_null(asking_number(asking, at + 1));
        assert_ptr_equal(asking_of(asking, order->mail.connection), at % 2 ? NULL : &orders[at + 1]);
    }
    assert_true(list_empty(&asking->all));
    asking_destroy(asking);
}

static void what_wasnt_asked_has_no_number(void **state) {
    struct asking *asking = asking_create(&key);
    (void)state;
    asking_add(asking, fill(0));
    assert_null(asking_number(asking, 1));
    assert_null(asking_find(asking, "agent-", 6));
    asking_remove(&orders[0]);
    asking_add(asking, &orders[0]);
    asking_remove(&orders[0]);
    asking_destroy(asking);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_until_it_goes),
        cmocka_unit_test(what_wasnt_asked_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
