// Buffers: counted, bounded by the budget, and home again when the last reference goes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/memory.h"

static void the_last_reference_brings_it_home(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = 1 << 20};
    struct buffer_pool pool;
    buffer_pool_init(&pool, &budget);
    struct buffer *buffer = buffer_take(&pool);
    assert_int_equal(buffer->capacity, RECEIVE_BUFFER_BYTES);
    buffer_hold(buffer);
    buffer_drop(buffer);
    assert_false(buffer_pool_full(&pool));
    buffer_drop(buffer);
    assert_true(buffer_pool_full(&pool));
    assert_ptr_equal(buffer_take(&pool), buffer); // still warm
    buffer_drop(buffer);
    buffer_drop(NULL);
    buffer_pool_deinit(&pool);
    assert_int_equal(budget.bytes, 0);
}

static void all_sizes_come_home(void **state) {
    (void)state;
    static const uint32_t sizes[] = {0, 1, RECEIVE_BUFFER_BYTES - 1, RECEIVE_BUFFER_BYTES,
                                     RECEIVE_BUFFER_BYTES + 1};
    struct buffer_budget budget = {.bytes_max = 1 << 20};
    struct buffer_pool pool;
    buffer_pool_init(&pool, &budget);
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        struct buffer *buffer = buffer_take_sized(&pool, sizes[index]);
        assert_int_equal(buffer->capacity, sizes[index]);
        memset(buffer->bytes, 1, sizes[index] + BUFFER_SLACK_BYTES);
        assert_false(buffer_pool_full(&pool));
        buffer_drop(buffer);
        assert_true(buffer_pool_full(&pool));
    }
    buffer_pool_deinit(&pool);
    assert_int_equal(budget.bytes, 0);
}

static void the_budget_is_shared_and_not_passed(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = 2 * (RECEIVE_BUFFER_BYTES + 256) * 16 / 14};
    struct buffer_pool pools[2];
    for (unsigned index = 0; index < 2; index++)
        buffer_pool_init(&pools[index], &budget);
    struct buffer *first = buffer_take(&pools[0]), *second = buffer_take(&pools[1]);
    assert_true(first && second);
    uint64_t held = budget.bytes;
    assert_false(buffer_pool_can_take(&pools[0]));
    assert_null(buffer_take(&pools[0]));
    assert_null(buffer_take_sized(&pools[1], 2 * RECEIVE_BUFFER_BYTES));
    assert_int_equal(budget.bytes, held);
    buffer_drop(first);
    assert_true(buffer_pool_can_take(&pools[0]));
    assert_false(buffer_pool_can_take(&pools[1])); // the memory rests in the other pool
    buffer_drop(second);
    for (unsigned index = 0; index < 2; index++)
        buffer_pool_deinit(&pools[index]);
    assert_int_equal(budget.bytes, 0);
}

static void large_frames_find_no_room_first_and_parts_of_frames_last(void **state) {
    (void)state;
    const uint32_t sixteenth = 4 * RECEIVE_BUFFER_BYTES;
    struct buffer_budget budget = {.bytes_max = 16 * sixteenth};
    struct buffer_pool pool;
    buffer_pool_init(&pool, &budget);
    struct buffer *most = buffer_take_sized(&pool, 12 * sixteenth), *received[9], *parts[9];
    assert_null(buffer_take_large(&pool, sixteenth));
    assert_false(buffer_budget_tight(&budget));
    unsigned receives = 0, part_count = 0;
    while ((received[receives] = buffer_take(&pool)))
        receives++;
    assert_int_equal(receives, 7); // of eight, for what else a buffer holds
    assert_true(buffer_budget_tight(&budget));
    assert_false(buffer_pool_can_take(&pool));
    while ((parts[part_count] = buffer_take_sized(&pool, RECEIVE_BUFFER_BYTES)))
        part_count++;
    assert_int_equal(part_count, 6); // of eight: the last two are for messages and answers
    assert_null(buffer_take_sized(&pool, sixteenth));
    buffer_drop(received[--receives]);
    assert_false(buffer_pool_can_take(&pool)); // though one is at rest
    assert_null(buffer_take(&pool));
    received[receives++] = buffer_take_sized(&pool, RECEIVE_BUFFER_BYTES);
    assert_non_null(received[receives - 1]);
    while (receives)
        buffer_drop(received[--receives]);
    while (part_count)
        buffer_drop(parts[--part_count]);
    buffer_drop(most);
    buffer_pool_deinit(&pool);
    assert_int_equal(budget.bytes, 0);
}

static void without_memory_the_budget_is_given_back(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = 1 << 20};
    struct buffer_pool pool;
    buffer_pool_init(&pool, &budget);
    memory_fail_after(0);
    assert_null(buffer_take(&pool));
    assert_null(buffer_take_sized(&pool, 5));
    memory_fail_after(UINT64_MAX);
    assert_int_equal(budget.bytes, 0);
    assert_true(buffer_pool_full(&pool));
    buffer_pool_deinit(&pool);
}

static void a_burst_is_not_kept_for_ever(void **state) {
    (void)state;
    enum { BURST = 8 * RECEIVE_BUFFERS_PROVIDED };
    static struct buffer *burst[BURST];
    struct buffer_budget budget = {.bytes_max = UINT64_MAX / 2};
    struct buffer_pool pool;
    buffer_pool_init(&pool, &budget);
    for (size_t index = 0; index < BURST; index++)
        burst[index] = buffer_take(&pool);
    uint64_t most = budget.bytes;
    for (size_t index = 0; index < BURST; index++)
        buffer_drop(burst[index]);
    assert_true(buffer_pool_full(&pool) && budget.bytes <= most / 2);
    buffer_pool_deinit(&pool);
    assert_int_equal(budget.bytes, 0);
}

static void what_is_not_needed_for_a_while_goes(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = UINT64_MAX / 2};
    struct buffer_pool pool;
    struct buffer *taken[8];
    buffer_pool_init(&pool, &budget);
    for (size_t index = 0; index < 8; index++)
        taken[index] = buffer_take(&pool);
    uint64_t eight = budget.bytes;
    for (size_t index = 8; index-- > 0;)
        buffer_drop(taken[index]);
    buffer_pool_shrink(&pool); // all eight were needed in that time
    assert_int_equal(budget.bytes, eight);
    for (size_t index = 0; index < 3; index++)
        assert_ptr_equal(buffer_take(&pool), taken[index]); // the last that came home
    for (size_t index = 3; index-- > 0;)
        buffer_drop(taken[index]);
    buffer_pool_shrink(&pool);
    assert_int_equal(budget.bytes, eight / 8 * 3);
    for (size_t index = 0; index < 3; index++)
        assert_ptr_equal(buffer_take(&pool), taken[index]);
    for (size_t index = 0; index < 3; index++)
        buffer_drop(taken[index]);
    buffer_pool_shrink(&pool);
    buffer_pool_shrink(&pool);
    assert_int_equal(budget.bytes, 0);
    buffer_pool_deinit(&pool);
}

static void what_the_allocator_got_is_counted(void **state) {
    (void)state;
    struct buffer_budget budget = {.bytes_max = UINT64_MAX / 2};
    struct buffer_pool pool;
    buffer_pool_init(&pool, &budget);
    buffer_drop(buffer_take(&pool));
    assert_int_equal(pool.returned, 0); // it is at rest
    buffer_drop(buffer_take_large(&pool, 2 * RECEIVE_BUFFER_BYTES));
    assert_int_equal(pool.returned, 1);
    buffer_pool_shrink(&pool);
    assert_int_equal(pool.returned, 0);
    buffer_pool_shrink(&pool);
    assert_int_equal(pool.returned, 1); // what was at rest
    buffer_pool_shrink(&pool);
    assert_int_equal(pool.returned, 0);
    buffer_pool_deinit(&pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_reference_brings_it_home),
        cmocka_unit_test(all_sizes_come_home),
        cmocka_unit_test(the_budget_is_shared_and_not_passed),
        cmocka_unit_test(large_frames_find_no_room_first_and_parts_of_frames_last),
        cmocka_unit_test(without_memory_the_budget_is_given_back),
        cmocka_unit_test(a_burst_is_not_kept_for_ever),
        cmocka_unit_test(what_is_not_needed_for_a_while_goes),
        cmocka_unit_test(what_the_allocator_got_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
