// Numbers found again however many there are, in chains that stay short and are given back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/mcp/id_table.h"
#include "tests/core/base/account.h"

enum { THINGS = 20000 };

struct thing {
    struct list node;
    uint64_t number;
};

static struct id_table table;
static struct thing things[THINGS];

static uint64_t number_of(const struct list *node) {
    return list_entry(node, struct thing, node)->number;
}

static size_t longest(void) {
    size_t most = 0;
    for (size_t at = 0; at < (size_t)1 << table.bits; at++) {
        size_t length = 0;
        for (const struct list *node = table.buckets[at].next; node != &table.buckets[at]; node = node->next)
            length++;
        most = length > most ? length : most;
    }
    return most;
}

static void put_all(uint64_t step) {
    for (size_t at = 0; at < THINGS; at++) {
        things[at].number = 1 + at * step;
        list_init(&things[at].node);
        id_table_add(&table, &things[at].node);
    }
}

static void all_are_found(size_t from, uint64_t step) {
    for (size_t at = 0; at < THINGS; at++)
        assert_ptr_equal(id_table_find(&table, 1 + at * step), at < from ? NULL : &things[at].node);
}

static void check(uint64_t step) {
    id_table_init(&table, account(), number_of);
    put_all(step);
    all_are_found(0, step);
    assert_true(longest() <= 16);
    for (size_t at = 0; at < THINGS - 5; at++)
        id_table_remove(&table, &things[at].node);
    all_are_found(THINGS - 5, step);
    assert_int_equal(account()->used, 0); // few lie in the table itself
    for (size_t at = THINGS - 5; at < THINGS; at++)
        id_table_remove(&table, &things[at].node);
    id_table_deinit(&table);
}

// As hub ids, and names of connections, are counted.
static void chains_stay_short(void **state) {
    (void)state;
    check(1);
    check((uint64_t)1 << 32);
    check(((uint64_t)1 << 31) + 1);
}

// Without memory they become longer, and all is found.
static void without_memory_they_do_not_grow(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = 1024};
    struct quota scarce;
    quota_init(&scarce, &budget);
    id_table_init(&table, &scarce, number_of);
    put_all(3);
    all_are_found(0, 3);
    assert_int_equal(table.bits, ID_TABLE_FEWEST_BITS);
    for (size_t at = 0; at < THINGS; at++)
        id_table_remove(&table, &things[at].node);
    id_table_deinit(&table);
    quota_deinit(&scarce);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_stay_short),
        cmocka_unit_test(without_memory_they_do_not_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
