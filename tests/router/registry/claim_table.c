// Registrations that wait for other hubs' word: found by their name, their connection and the number of what was asked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "router/registry/claim_table.h"

enum { ORDERS = 1000 }; // several in each chain

static const struct siphash_key key = {0};
static struct order orders[ORDERS];

static struct order *fill(unsigned at) {
    struct order *order = &orders[at];
    *order = (struct order){.kind = ORDER_REGISTER, .stage = ORDER_SUBMITTED, .mail.connection = at / 2 + 1};
    order->agent_id_bytes = (uint32_t)sprintf(order->agent_id, "agent-%u", at);
    return order;
}

static void each_is_found_until_it_goes(void **state) {
    struct claim_table *asking = claim_table_create(&key);
    (void)state;
    assert_non_null(asking);
    for (unsigned at = 0; at < ORDERS; at++)
        claim_table_add(asking, fill(at));
    for (unsigned at = 0; at < ORDERS; at++)
        claim_table_sent(asking, &orders[at], at + 1, 7);
    for (unsigned at = 0; at < ORDERS; at++) {
        struct order *order = &orders[at];
        assert_ptr_equal(claim_table_find(asking, order->agent_id, order->agent_id_bytes), order);
        assert_ptr_equal(claim_table_number(asking, at + 1), order);
        assert_ptr_equal(claim_table_of(asking, order->mail.connection), &orders[at]);
        assert_int_equal(claim_table_count(asking, order->mail.connection), at % 2 ? 1 : 2);
        claim_table_remove(order);
        assert_int_equal(claim_table_count(asking, order->mail.connection), at % 2 ? 0 : 1);
        assert_null(claim_table_find(asking, order->agent_id, order->agent_id_bytes));
        assert_null(claim_table_number(asking, at + 1));
        assert_ptr_equal(claim_table_of(asking, order->mail.connection), at % 2 ? NULL : &orders[at + 1]);
    }
    assert_true(list_empty(&asking->orders));
    claim_table_destroy(asking);
}

static void what_wasnt_asked_has_no_number(void **state) {
    struct claim_table *asking = claim_table_create(&key);
    (void)state;
    claim_table_add(asking, fill(0));
    assert_null(claim_table_number(asking, 1));
    assert_null(claim_table_find(asking, "agent-", 6));
    claim_table_remove(&orders[0]);
    claim_table_add(asking, &orders[0]);
    claim_table_remove(&orders[0]);
    claim_table_destroy(asking);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_found_until_it_goes),
        cmocka_unit_test(what_wasnt_asked_has_no_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
