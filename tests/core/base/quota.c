// Accounts of kept memory: their sum is bounded, whoever takes and whoever gives back.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/memory.h"
#include "core/base/quota.h"

enum { KIBIBYTE = 1024, MEMORY_BYTES = 1 << 20, BOUND = MEMORY_BYTES / 4, BLOCKS_MAX = 4096 };

static uint64_t held(const struct buffer_budget *budget) {
    assert_int_equal(atomic_load(&budget->bytes), atomic_load(&budget->quota_bytes));
    return atomic_load(&budget->quota_bytes);
}

static void what_is_taken_counts_until_it_is_given_back(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota quota;
    quota_init(&quota, &budget);
    uint8_t *one = quota_take(&quota, 1000), *two = quota_take_zeroed(&quota, 100, 500);
    assert_non_null(one);
    assert_non_null(two);
    for (size_t at = 0; at < 50000; at++)
        assert_int_equal(two[at], 0);
    assert_int_equal(quota.used, memory_bytes(one) + memory_bytes(two));
    assert_true(held(&budget) >= 51000 && held(&budget) <= 51000 + 51000 / 4 + 2 * QUOTA_GRANT_BYTES);
    memset(two, 7, 50000);
    two = quota_resize(&quota, two, 90000);
    assert_int_equal(two[49999], 7);
    assert_int_equal(quota.used, memory_bytes(one) + memory_bytes(two));
    two = quota_resize(&quota, two, 100);
    assert_true(held(&budget) <= 2 * QUOTA_GRANT_BYTES + 2000);
    quota_give(&quota, one);
    quota_give(&quota, two);
    quota_give(&quota, NULL);
    assert_int_equal(quota.used, 0);
    quota_settle(&quota);
    assert_int_equal(held(&budget), 0);
}

static unsigned take_all(struct quota *quota, void *blocks[BLOCKS_MAX], size_t bytes) {
    unsigned count = 0;
    while (count < BLOCKS_MAX && (blocks[count] = quota_take(quota, bytes)))
        count++;
    return count;
}

// To the last block, though accounts draw in grants; and the hub's bound stays free for others.
static void the_quota_is_a_quarter_of_memory(void **state) {
    (void)state;
    static void *blocks[BLOCKS_MAX];
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota quota, other;
    quota_init(&quota, &budget);
    quota_init(&other, &budget);
    assert_int_equal(quota_bytes_max(&quota), BOUND);
    assert_null(quota_take(&quota, BOUND + 1));
    assert_int_equal(quota.refused, 1);
    assert_int_equal(held(&budget), 0);
    for (size_t bytes = 100; bytes <= 100000; bytes *= 10) {
        unsigned count = take_all(&quota, blocks, bytes);
        size_t each = memory_bytes(blocks[0]);
        assert_int_equal(count, BOUND / each);
        assert_true(held(&budget) <= BOUND);
        if (bytes == 100)
            assert_null(quota_take(&other, KIBIBYTE));
        assert_null(quota_resize(&quota, blocks[0], bytes + BOUND));
        assert_int_equal(quota.used, count * each);
        while (count)
            quota_give(&quota, blocks[--count]);
        assert_true(held(&budget) <= 2 * QUOTA_GRANT_BYTES);
    }
    assert_int_equal(atomic_load(&budget.refused), 0); // nobody need be closed for this
    quota_deinit(&quota);
    quota_deinit(&other);
    assert_int_equal(held(&budget), 0);
}

// Memory of buffers is no room for the quota, and that is known where memory is won back.
static void messages_and_quota_share_the_bound(void **state) {
    (void)state;
    static void *blocks[BLOCKS_MAX];
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES, .bytes = MEMORY_BYTES - 100 * KIBIBYTE};
    struct quota quota;
    quota_init(&quota, &budget);
    unsigned count = take_all(&quota, blocks, 1000);
    assert_int_equal(count, 100 * KIBIBYTE / memory_bytes(blocks[0]));
    assert_true(atomic_load(&budget.bytes) <= MEMORY_BYTES);
    assert_true(atomic_load(&budget.refused) > 0);
    atomic_store(&budget.bytes_max, 2 * MEMORY_BYTES); // as an operator may
    assert_int_equal(quota_bytes_max(&quota), 2 * BOUND);
    blocks[count] = quota_take(&quota, 1000);
    assert_non_null(blocks[count]);
    atomic_store(&budget.bytes_max, 4 * KIBIBYTE);
    assert_int_equal(quota_bytes_left(&quota), 0);
    assert_null(quota_take(&quota, 60000));
    for (unsigned index = 0; index <= count; index++)
        quota_give(&quota, blocks[index]);
    quota_deinit(&quota);
    assert_int_equal(atomic_load(&budget.quota_bytes), 0);
    assert_int_equal(atomic_load(&budget.bytes), MEMORY_BYTES - 100 * KIBIBYTE);
}

static void what_one_account_took_another_one_may_give_back(void **state) {
    (void)state;
    static void *blocks[BLOCKS_MAX];
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota takes, gives;
    quota_init(&takes, &budget);
    quota_init(&gives, &budget);
    for (unsigned round = 0; round < 10; round++) { // each of them all that there is
        unsigned count = take_all(&takes, blocks, 1000);
        assert_true(count > 200);
        while (count)
            quota_give(&gives, blocks[--count]);
    }
    assert_true(takes.used > 0 && gives.used == -takes.used);
    assert_true(held(&budget) <= 4 * QUOTA_GRANT_BYTES);
    quota_deinit(&takes);
    quota_deinit(&gives);
    assert_int_equal(held(&budget), 0);
}

static void grants_spare_the_hubs_account(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota quota;
    quota_init(&quota, &budget);
    void *first = quota_take(&quota, 100);
    uint64_t before = held(&budget);
    for (unsigned round = 0; round < 1000; round++) {
        void *memory = quota_take(&quota, 200);
        quota_give(&quota, memory);
        assert_int_equal(held(&budget), before);
    }
    quota_give(&quota, first);
    quota_deinit(&quota);
}

static void what_is_set_aside_is_there_for_who_accepts_it(void **state) {
    (void)state;
    static void *blocks[BLOCKS_MAX];
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota first, second;
    quota_init(&first, &budget);
    quota_init(&second, &budget);
    assert_false(quota_set_aside(&first, BOUND + 1));
    assert_int_equal(held(&budget), 0);
    assert_true(quota_set_aside(&first, 100 * KIBIBYTE));
    unsigned count = take_all(&first, blocks, 1000);
    assert_true(count > 100 && count <= (BOUND - 100 * KIBIBYTE) / 1000);
    assert_null(quota_take(&second, 90 * KIBIBYTE));
    quota_accept(&second, 100 * KIBIBYTE);
    void *block = quota_take(&second, 90 * KIBIBYTE);
    assert_non_null(block);
    quota_give(&second, block);
    while (count)
        quota_give(&first, blocks[--count]);
    quota_deinit(&first);
    quota_deinit(&second);
    assert_int_equal(held(&budget), 0);
}

static void without_memory_nothing_counts(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota quota;
    quota_init(&quota, &budget);
    void *memory = quota_take(&quota, 100);
    int64_t used = quota.used;
    memory_fail_after(0);
    assert_null(quota_take(&quota, 100000));
    assert_null(quota_take_zeroed(&quota, 10, 10000));
    assert_null(quota_resize(&quota, memory, 100000));
    memory_fail_after(UINT64_MAX);
    assert_int_equal(quota.used, used);
    assert_int_equal(quota.refused, 0);
    assert_true(held(&budget) <= 2 * QUOTA_GRANT_BYTES);
    quota_give(&quota, memory);
    quota_deinit(&quota);
    assert_int_equal(held(&budget), 0);
}

// Each of several who take all that is fair leaves as much again for all others.
static void a_share_is_what_is_left(void **state) {
    (void)state;
    static void *blocks[BLOCKS_MAX];
    enum { TAKERS = 3, BLOCK = 3 * KIBIBYTE };
    struct buffer_budget budget = {.bytes_max = 16 * MEMORY_BYTES};
    struct quota quota;
    unsigned count = 0;
    quota_init(&quota, &budget);
    uint64_t reserve = quota_bytes_max(&quota) / 4, left = quota_bytes_left(&quota) - reserve;
    for (unsigned taker = 0; taker < TAKERS; taker++) {
        uint64_t held_by = 0;
        while (count < BLOCKS_MAX && quota_is_fair(&quota, held_by + BLOCK)) {
            blocks[count] = quota_take(&quota, BLOCK);
            held_by += memory_bytes(blocks[count++]);
        }
        assert_true(held_by > left / 2 - 2 * QUOTA_GRANT_BYTES && held_by < left / 2 + 2 * QUOTA_GRANT_BYTES);
        left = quota_bytes_left(&quota) - reserve;
    }
    assert_true(left > BOUND);
    while (quota_bytes_left(&quota) > reserve)
        blocks[count++] = quota_take(&quota, BLOCK);
    assert_true(quota_is_fair(&quota, quota.little_bytes)); // who has little isn't asked
    assert_false(quota_is_fair(&quota, quota.little_bytes + 1));
    assert_true(quota_bytes_left(&quota) > reserve - BLOCK - 2 * QUOTA_GRANT_BYTES); // and finds room
    while (count)
        quota_give(&quota, blocks[--count]);
    quota_deinit(&quota);
    assert_int_equal(held(&budget), 0);
}

// Memory beside the quarter is refused nothing where the quarter is full, counts in the whole, and takes none
// of the quarter.
static void what_stands_beside_the_quarter_takes_none_of_it(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = MEMORY_BYTES};
    struct quota quota, beside;
    quota_init(&quota, &budget);
    quota_init_beside(&beside, &budget);
    void *all = quota_take(&quota, MEMORY_BYTES / 4 - 2 * QUOTA_GRANT_BYTES), *place;
    uint64_t left = quota_bytes_left(&quota), before = atomic_load(&budget.bytes);
    assert_non_null(all);
    assert_non_null(place = quota_take_zeroed(&beside, 1, MEMORY_BYTES / 2));
    assert_int_equal(quota_bytes_left(&quota), left);
    assert_true(atomic_load(&budget.bytes) >= before + MEMORY_BYTES / 2);
    quota_give(&beside, place);
    quota_give(&quota, all);
    quota_deinit(&beside);
    quota_deinit(&quota);
    assert_int_equal(atomic_load(&budget.bytes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_taken_counts_until_it_is_given_back),
        cmocka_unit_test(the_quota_is_a_quarter_of_memory),
        cmocka_unit_test(messages_and_quota_share_the_bound),
        cmocka_unit_test(what_one_account_took_another_one_may_give_back),
        cmocka_unit_test(grants_spare_the_hubs_account),
        cmocka_unit_test(what_is_set_aside_is_there_for_who_accepts_it),
        cmocka_unit_test(without_memory_nothing_counts),
        cmocka_unit_test(a_share_is_what_is_left),
        cmocka_unit_test(what_stands_beside_the_quarter_takes_none_of_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
