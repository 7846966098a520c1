// Requests under way: a hub id finds its request as long as that is pending, and never another one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/memory.h"
#include "core/requests/pending.h"
#include "core/requests/request_index.h"
#include "tests/core/base/account.h"

static void hub_ids_are_distinct_and_below_2_to_53(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, SHARDS_MAX - 1, account());
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

static void whom_it_is_asked_of_stands_behind_the_id(void **state) {
    (void)state;
    struct pending_table table;
    char name[PENDING_ID_INLINE + 1], id[PENDING_ID_INLINE + 2];
    pending_table_init(&table, 0, account());
    memset(name, 'n', sizeof name);
    memset(id, '7', sizeof id);
    // Both in place; the id in place, and both then elsewhere; both elsewhere.
    static const uint32_t id_bytes[] = {1, PENDING_ID_INLINE, sizeof id};
    static const uint32_t name_bytes[] = {PENDING_ID_INLINE - 1, 1, sizeof name};
    for (unsigned which = 0; which < 3; which++) {
        struct pending *pending = pending_add(&table, id, id_bytes[which]);
        assert_int_equal(pending->named_target_bytes, 0);
        if (which) {
            memory_fail_after(0);
            assert_false(pending_keep_named_target(&table, pending, 'n', name, name_bytes[which] - 1));
            memory_fail_after(UINT64_MAX);
        }
        assert_true(pending_keep_named_target(&table, pending, 'n', name, name_bytes[which] - 1));
        assert_int_equal(pending->id_bytes, id_bytes[which]);
        assert_memory_equal(pending_id(pending), id, id_bytes[which]);
        assert_int_equal(pending->named_target_bytes, name_bytes[which]);
        assert_memory_equal(pending_named_target(pending), name, name_bytes[which]);
        assert_int_equal(pending->bytes, sizeof *pending + (which ? id_bytes[which] + name_bytes[which] : 0));
        pending_end(&table, pending);
    }
    pending_table_deinit(&table);
}

static void tokens_are_kept_until_the_end(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, 0, account());
    struct pending *pending = pending_add(&table, "1", 1);
    uint32_t bytes = 0;
    assert_null(pending_token(pending, TOKEN_META, &bytes));
    const void *const texts[TOKENS_COUNT] = {"\"work\"", NULL, "77"};
    assert_true(pending_keep_tokens(&table, pending, texts, (const uint32_t[]){6, 0, 2}));
    assert_memory_equal(pending_token(pending, TOKEN_WORK_DONE, &bytes), "\"work\"", 6);
    assert_int_equal(bytes, 6);
    assert_null(pending_token(pending, TOKEN_PARTIAL_RESULT, &bytes));
    assert_memory_equal(pending_token(pending, TOKEN_META, &bytes), "77", 2);
    assert_int_equal(bytes, 2);
    pending_end(&table, pending);
    pending = pending_add(&table, "2", 1);
    assert_null(pending_token(pending, TOKEN_WORK_DONE, &bytes));
    memory_fail_after(0);
    assert_false(pending_keep_tokens(&table, pending, texts, (const uint32_t[]){6, 0, 2}));
    memory_fail_after(UINT64_MAX);
    pending_end(&table, pending);
    pending_table_deinit(&table);
}

static void an_ended_request_is_not_found_though_its_slot_is_used_again(void **state) {
    (void)state;
    struct pending_table table;
    pending_table_init(&table, 0, account());
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
    pending_table_init(&table, 0, account());
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
    pending_table_init(&table, 0, account());
    for (uint32_t bytes = 1; bytes <= sizeof id; bytes++) {
        memset(id, (int)('a' + bytes % 26), sizeof id);
        struct pending *pending = pending_add(&table, id, bytes);
        memset(id, 0, sizeof id);
        assert_int_equal(pending->id_bytes, bytes);
        assert_int_equal(pending_id(pending)[0], 'a' + bytes % 26);
        assert_int_equal(pending_id(pending)[bytes - 1], 'a' + bytes % 26);
        pending_end(&table, pending);
    }
    pending_table_deinit(&table);
}

static void ending_leaves_lists_and_disarms(void **state) {
    (void)state;
    struct pending_table table;
    struct wheel wheel;
    struct list source, target;
    pending_table_init(&table, 0, account());
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

// What few requests have doesn't stay in the slot for the next one.
static void a_slot_is_plain_after_its_request(void **state) {
    (void)state;
    const void *const texts[TOKENS_COUNT] = {"1", "2", "3"};
    struct pending_table table;
    pending_table_init(&table, 0, account());
    struct pending *pending = pending_add(&table, "1", 1);
    assert_int_equal((uintptr_t)pending % CACHE_LINE_BYTES, 0);
    assert_true(pending_is_plain(pending));
    assert_true(pending_keep_tokens(&table, pending, texts, (const uint32_t[]){1, 1, 1}));
    pending_mark_rare(pending);
    pending->observation = (struct observation *)&table; // the router's, which has given it back
    assert_false(pending_is_plain(pending));
    pending_end(&table, pending);
    assert_ptr_equal(pending_add(&table, "1", 1), pending);
    assert_true(pending_is_plain(pending) && !pending->has_rare);
    pending_end(&table, pending);
    pending_table_deinit(&table);
}

static void without_memory_nothing_is_added(void **state) {
    (void)state;
    struct pending_table table;
    char id[100] = {0};
    pending_table_init(&table, 0, account());
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

// --- Chunks

enum { MANY = 4 * PENDING_CHUNK };

// Fills the table with so many requests; keeps their hub ids.
static void add_many(struct pending_table *table, uint64_t *hub_ids, unsigned count) {
    for (unsigned index = 0; index < count; index++) {
        struct pending *pending = pending_add(table, "1", 1);
        assert_non_null(pending);
        hub_ids[index] = pending_hub_id(table, pending);
    }
}

static void end_many(struct pending_table *table, const uint64_t *hub_ids, unsigned count) {
    for (unsigned index = 0; index < count; index++)
        pending_end(table, pending_find(table, hub_ids[index]));
}

static void shrink(struct pending_table *table) {
    pending_table_shrink(table);
    pending_table_shrink(table);
}

static int by_number(const void *one, const void *other) {
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

// Chunks of a burst go back, all but the first, and the hub ids of the next burst are others.
static void empty_chunks_go_back_and_no_hub_id_returns(void **state) {
    (void)state;
    enum { ROUNDS = 4 };
    static uint64_t all_ids[ROUNDS * MANY];
    struct pending_table table;
    pending_table_init(&table, 0, account());
    int64_t used = account()->used;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t *hub_ids = all_ids + round * MANY;
        add_many(&table, hub_ids, MANY);
        assert_false(pending_table_has_unused(&table));
        assert_true(account()->used - used >= (int64_t)(MANY * sizeof(struct pending)));
        shrink(&table);   // takes nothing that is in use
        if (round == 1) { // the first slots of a chunk go ahead of the others
            for (unsigned turn = 0; turn < 100; turn++) {
                end_many(&table, hub_ids, 10);
                add_many(&table, hub_ids, 10);
            }
        }
        end_many(&table, hub_ids, MANY);
        assert_true(pending_table_has_unused(&table));
        shrink(&table);
        assert_false(pending_table_has_unused(&table));
        assert_true(account()->used - used < (int64_t)(3 * PENDING_CHUNK * sizeof(struct pending) / 2));
        for (unsigned index = 0; index < MANY; index++)
            assert_null(pending_find(&table, hub_ids[index]));
    }
    qsort(all_ids, ROUNDS * MANY, sizeof *all_ids, by_number);
    for (unsigned index = 1; index < ROUNDS * MANY; index++)
        assert_true(all_ids[index - 1] < all_ids[index]);
    pending_table_deinit(&table);
    assert_int_equal(account()->used, used);
}

// A chunk that was needed since the last look stays, and so does one with a single request.
static void chunks_in_use_stay(void **state) {
    (void)state;
    static uint64_t hub_ids[MANY];
    struct pending_table table;
    pending_table_init(&table, 0, account());
    add_many(&table, hub_ids, MANY);
    struct pending *last = pending_find(&table, hub_ids[MANY - 1]);
    end_many(&table, hub_ids, MANY - 1);
    pending_table_shrink(&table);
    add_many(&table, hub_ids, MANY - 1);
    end_many(&table, hub_ids, MANY - 1);
    int64_t used = account()->used;
    pending_table_shrink(&table);
    assert_int_equal(account()->used, used);
    shrink(&table);
    assert_true(account()->used < used);
    assert_ptr_equal(pending_find(&table, pending_hub_id(&table, last)), last);
    add_many(&table, hub_ids, MANY - 1); // where the others were
    assert_int_equal(table.chunk_count, MANY / PENDING_CHUNK);
    end_many(&table, hub_ids, MANY - 1);
    pending_end(&table, last);
    pending_table_deinit(&table);
}

// Generations go round; a slot must not jump to one that it had lately.
static void a_chunk_whose_slots_are_far_apart_stays(void **state) {
    (void)state;
    enum { GENERATIONS = (1 << HUB_ID_GENERATION_BITS) - 1 };
    static const struct {
        uint32_t generations[3];
        bool goes;
        uint32_t next;
    } cases[] = {
        {{5, 9, 7}, true, 10},
        {{9, 5, 5}, true, 10},
        {{GENERATIONS - 3, 4, 2}, true, 5}, // round the corner
        {{4, GENERATIONS - 3, GENERATIONS}, true, 5},
        {{5, GENERATIONS / 3, GENERATIONS / 2 - 9}, true, GENERATIONS / 2 - 8},
        {{5, GENERATIONS / 3, GENERATIONS / 3 * 2}, false, 0},
        {{GENERATIONS / 3 * 2, 5, GENERATIONS / 3}, false, 0},
    };
    for (size_t index = 0; index < sizeof cases / sizeof *cases; index++) {
        static uint64_t hub_ids[2 * PENDING_CHUNK];
        struct pending_table table;
        pending_table_init(&table, 0, account());
        add_many(&table, hub_ids, 2 * PENDING_CHUNK);
        struct pending *slots = table.chunks[1].slots;
        for (unsigned at = 0; at < PENDING_CHUNK; at++)
            slots[at].generation = (cases[index].generations[at % 3]) & ((1u << HUB_ID_GENERATION_BITS) - 1);
        for (unsigned at = 0; at < 2 * PENDING_CHUNK; at++)
            pending_end(&table, &table.chunks[at / PENDING_CHUNK].slots[at % PENDING_CHUNK]);
        shrink(&table);
        assert_false(pending_table_has_unused(&table)); // nor is it looked at again before it was used
        assert_int_equal(table.chunks[1].slots == NULL, cases[index].goes);
        add_many(&table, hub_ids, 2 * PENDING_CHUNK);
        assert_true(!cases[index].goes || table.chunks[1].slots[7].generation == cases[index].next);
        end_many(&table, hub_ids, 2 * PENDING_CHUNK);
        assert_true(pending_table_has_unused(&table));
        pending_table_deinit(&table);
    }
}

static void past_the_bound_nothing_is_added(void **state) {
    (void)state;
    enum { QUARTER = 4 << 20 };
    struct buffer_budget budget = {.bytes_max = 4 * QUARTER};
    struct quota quota;
    struct pending_table table;
    char id[256] = {0};
    const void *const texts[TOKENS_COUNT] = {id, id, id};
    quota_init(&quota, &budget);
    pending_table_init(&table, 0, &quota);
    uint64_t sum = 0;
    struct request_index index;
    request_index_init(&index);
    for (struct pending *pending; (pending = pending_add(&table, id, sizeof id));) {
        bool kept_all = pending_keep_tokens(&table, pending, texts, (const uint32_t[]){256, 256, 256});
        sum += pending->bytes;
        request_index_add(&index, pending);
        if (!kept_all)
            break;
    }
    assert_true(table.count > 500);
    assert_true(sum > QUARTER / 4 * 3 && sum <= QUARTER);
    assert_true(atomic_load(&budget.bytes) <= QUARTER);
    assert_int_equal(index.quota_bytes, sum);
    while (!list_empty(&index.requests)) {
        struct pending *pending = list_entry(index.requests.next, struct pending, by_source);
        request_index_remove(pending);
        pending_end(&table, pending);
    }
    request_index_deinit(&index);
    struct pending *again = pending_add(&table, id, sizeof id);
    assert_non_null(again);
    pending_end(&table, again);
    pending_table_deinit(&table);
    quota_deinit(&quota);
    assert_int_equal(atomic_load(&budget.bytes), 0);
}

// At the least memory a peer's registrations may fill all but the last quarter of the quota (quota_is_fair). The first
// request of each shard has room then, and a part of that quarter is left.
static void a_first_request_needs_little_of_the_least_memory(void **state) {
    (void)state;
    enum { SHARDS = 3 };
    struct buffer_budget budget = {.bytes_max = limits_memory_bytes_least(SHARDS)};
    struct quota quota;
    struct pending_table tables[SHARDS];
    struct pending *first[SHARDS];
    quota_init(&quota, &budget);
    uint64_t reserve = quota_bytes_max(&quota) / 4;
    assert_true(quota_set_aside(&quota, quota_bytes_max(&quota) - reserve));
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        pending_table_init(&tables[shard], shard, &quota);
        first[shard] = pending_add(&tables[shard], "1", 1);
        assert_non_null(first[shard]);
    }
    assert_true(quota_bytes_left(&quota) > reserve / 3);
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        pending_end(&tables[shard], first[shard]);
        pending_table_deinit(&tables[shard]);
    }
    quota_accept(&quota, quota_bytes_max(&quota) - reserve);
    quota_deinit(&quota);
    assert_int_equal(atomic_load(&budget.bytes), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whom_it_is_asked_of_stands_behind_the_id),
        cmocka_unit_test(tokens_are_kept_until_the_end),
        cmocka_unit_test(hub_ids_are_distinct_and_below_2_to_53),
        cmocka_unit_test(an_ended_request_is_not_found_though_its_slot_is_used_again),
        cmocka_unit_test(a_generation_wraps_past_zero),
        cmocka_unit_test(ids_of_all_lengths_are_kept),
        cmocka_unit_test(ending_leaves_lists_and_disarms),
        cmocka_unit_test(a_slot_is_plain_after_its_request),
        cmocka_unit_test(without_memory_nothing_is_added),
        cmocka_unit_test(empty_chunks_go_back_and_no_hub_id_returns),
        cmocka_unit_test(chunks_in_use_stay),
        cmocka_unit_test(a_chunk_whose_slots_are_far_apart_stays),
        cmocka_unit_test(past_the_bound_nothing_is_added),
        cmocka_unit_test(a_first_request_needs_little_of_the_least_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
