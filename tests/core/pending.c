// Requests under way: a hub id finds its request as long as that is pending, and never another one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/memory.h"
#include "core/pending.h"

static void hub_ids_are_distinct_and_below_2_to_53(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, SHARDS_MAX - 1);
    struct pending *all[3 * PENDING_CHUNK / 2];
    enum { COUNT = sizeof all / sizeof *all };
    for (size_t index = 0; index < COUNT; index++) {
        all[index] = pending_add(&table, "1", 1);
        assert_non_null(all[index]);
        uint64_t hub_id = pending_hub_id(&table, all[index]);
        assert_true(hub_id > 0 && hub_id < UINT64_C(1) << 53);
        assert_int_equal(hub_id_shard(hub_id), SHARDS_MAX - 1);
    }
    for (size_t index = 0; index < COUNT; index++)
        assert_ptr_equal(pending_find(&table, pending_hub_id(&table, all[index])), all[index]);
    assert_int_equal(table.count, COUNT);
    for (size_t index = 0; index < COUNT; index++)
        pending_end(&table, all[index]);
    pending_table_deinit(&table);
}

static void tokens_are_kept_until_the_end(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, 0);
    struct pending *pending = pending_add(&table, "1", 1);
    uint32_t bytes = 0;
    assert_null(pending_token(pending, TOKEN_META, &bytes));
    const void *const texts[TOKENS_COUNT] = {"\"work\"", NULL, "77"};
    assert_true(pending_keep_tokens(pending, texts, (const uint32_t[]){6, 0, 2}));
    assert_memory_equal(pending_token(pending, TOKEN_WORK_DONE, &bytes), "\"work\"", 6);
    assert_int_equal(bytes, 6);
    assert_null(pending_token(pending, TOKEN_PARTIAL_RESULT, &bytes));
    assert_memory_equal(pending_token(pending, TOKEN_META, &bytes), "77", 2);
    assert_int_equal(bytes, 2);
    pending_end(&table, pending);
    pending = pending_add(&table, "2", 1);
    assert_null(pending_token(pending, TOKEN_WORK_DONE, &bytes));
    memory_fail_after(0);
    assert_false(pending_keep_tokens(pending, texts, (const uint32_t[]){6, 0, 2}));
    memory_fail_after(UINT64_MAX);
    pending_end(&table, pending);
    pending_table_deinit(&table);
}

static void an_ended_request_is_not_found_though_its_slot_is_used_again(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, 0);
    uint64_t before = 0;
    for (unsigned round = 0; round < 100; round++) {
        struct pending *pending = pending_add(&table, "\"a\"", 3);
        uint64_t hub_id = pending_hub_id(&table, pending);
        assert_int_not_equal(hub_id, before);
        assert_null(pending_find(&table, before));
        assert_ptr_equal(pending_find(&table, hub_id), pending);
        assert_null(
            pending_find(&table, hub_id | (uint64_t)1 << (HUB_ID_SLOT_BITS + HUB_ID_GENERATION_BITS)));
        assert_null(pending_find(&table, hub_id + ((uint64_t)PENDING_CHUNK << HUB_ID_GENERATION_BITS)));
        pending_end(&table, pending);
        assert_null(pending_find(&table, hub_id));
        before = hub_id;
    }
    pending_table_deinit(&table);
}

static void a_generation_wraps_past_zero(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, 0);
    struct pending *pending = pending_add(&table, "1", 1);
    assert_int_equal(pending->slot, 0);
    pending->generation = (1u << HUB_ID_GENERATION_BITS) - 1;
    assert_ptr_equal(pending_find(&table, pending_hub_id(&table, pending)), pending);
    pending_end(&table, pending);
    assert_ptr_equal(pending_add(&table, "1", 1), pending);
    assert_true(pending_hub_id(&table, pending) > 0);
    pending_end(&table, pending);
    pending_table_deinit(&table);
}

static void ids_of_all_lengths_are_kept(void **state) {
    (void)state;
    struct pending_table table;
    char id[256];
    pending_table_init(&table, 0);
    for (uint32_t bytes = 1; bytes <= sizeof id; bytes++) {
        memset(id, (int)('a' + bytes % 26), sizeof id);
        struct pending *pending = pending_add(&table, id, bytes);
        memset(id, 0, sizeof id);
        assert_int_equal(pending->id_bytes, bytes);
        assert_int_equal(pending->id[0], 'a' + bytes % 26);
        assert_int_equal(pending->id[bytes - 1], 'a' + bytes % 26);
        pending_end(&table, pending);
    }
    pending_table_deinit(&table);
}

static void ending_leaves_lists_and_disarms(void **state) {
    (void)state;
    struct pending_table table;
    struct wheel wheel;
    struct list source, target;
    pending_table_init(&table, 0);
    wheel_init(&wheel, 0);
    list_init(&source);
    list_init(&target);
    struct pending *pending = pending_add(&table, "1", 1);
    list_append(&source, &pending->by_source);
    list_append(&target, &pending->by_target);
    wheel_arm(&wheel, &pending->timer, 5);
    pending_end(&table, pending);
    assert_true(list_empty(&source) && list_empty(&target));
    assert_null(wheel_expire(&wheel, 10));
    pending_table_deinit(&table);
}

static void without_memory_nothing_is_added(void **state) {
    (void)state;
    struct pending_table table;
    char id[100] = {0};
    pending_table_init(&table, 0);
    for (unsigned left = 0; left < 2; left++) { // the list of chunks, the chunk
        memory_fail_after(left);
        assert_null(pending_add(&table, id, 1));
    }
    memory_fail_after(1);
    assert_null(pending_add(&table, id, sizeof id)); // the id, after the chunk
    assert_int_equal(table.count, 0);
    memory_fail_after(UINT64_MAX);
    struct pending *pending = pending_add(&table, id, sizeof id);
    assert_non_null(pending);
    pending_end(&table, pending);
    pending_table_deinit(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_are_kept_until_the_end),
        cmocka_unit_test(hub_ids_are_distinct_and_below_2_to_53),
        cmocka_unit_test(an_ended_request_is_not_found_though_its_slot_is_used_again),
        cmocka_unit_test(a_generation_wraps_past_zero),
        cmocka_unit_test(ids_of_all_lengths_are_kept),
        cmocka_unit_test(ending_leaves_lists_and_disarms),
        cmocka_unit_test(without_memory_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
