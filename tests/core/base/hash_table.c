// The table of what hashes itself: what is in it is found, however many have one hash, and nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/hash_table.h"
#include "core/base/memory.h"
#include "tests/core/base/account.h"

enum { THINGS = 400, MANY = 20000 };

static struct thing {
    uint64_t padding;
    struct hash_node node;
    bool there;
} things[THINGS];

static bool is_found(const struct hash_table *hash_table, const struct thing *thing, uint64_t hash) {
    for (struct hash_node *node = hash_table_find(hash_table, hash); node; node = hash_table_next(node)) {
        assert_true(node->hash == hash);
        if (hash_table_entry(node, struct thing, node) == thing)
            return true;
    }
    return false;
}

// With few hashes, and with many.
static void any_sequence_agrees_with_a_table(void **state) {
    (void)state;
    for (uint64_t hashes = 1; hashes < 1000; hashes *= 9) {
        struct hash_table hash_table;
        uint32_t number = 12345;
        hash_table_init(&hash_table, account());
        for (size_t index = 0; index < THINGS; index++)
            things[index].there = false;
        for (unsigned round = 0; round < 5000; round++) {
            number = number * 1664525 + 1013904223;
            size_t index = (number >> 8) % THINGS;
            struct thing *thing = &things[index];
            if (thing->there)
                hash_table_remove(&hash_table, &thing->node);
            else
                assert_true(hash_table_add(&hash_table, &thing->node, hash_table_hash(index % hashes, 99)));
            thing->there = !thing->there;
            if (round % 50)
                continue;
            for (size_t other = 0; other < THINGS; other++)
                assert_true(is_found(&hash_table, &things[other], hash_table_hash(other % hashes, 99)) ==
                            things[other].there);
        }
        for (size_t index = 0; index < THINGS; index++)
            if (things[index].there)
                hash_table_remove(&hash_table, &things[index].node);
        hash_table_deinit(&hash_table);
    }
}

static void numbers_in_turn_are_spread(void **state) {
    bool seen[256] = {false};
    unsigned places = 0;
    (void)state;
    for (uint64_t number = 0; number < 256; number++) {
        uint64_t place = hash_table_hash(number << 20, UINT64_C(0x9e3779b97f4a7c15)) & 255;
        places += !seen[place];
        seen[place] = true;
    }
    assert_true(places > 100);
}

static size_t longest(const struct hash_table *hash_table) {
    size_t most = 0;
    for (size_t at = 0; at < hash_table->capacity; at++) {
        size_t length = 0;
        for (const struct hash_node *node = hash_table->buckets[at]; node; node = node->next)
            length++;
        most = length > most ? length : most;
    }
    return most;
}

// Numbers that are counted as hub ids and names of connections are.
static void buckets_stay_short_and_memory_is_given_back(void **state) {
    static struct hash_node many[MANY];
    static const uint64_t steps[] = {1, (uint64_t)1 << 32, ((uint64_t)1 << 31) + 1};
    (void)state;
    for (size_t which = 0; which < sizeof steps / sizeof *steps; which++) {
        struct hash_table hash_table;
        hash_table_init(&hash_table, account());
        int64_t before = account()->used;
        for (size_t at = 0; at < MANY; at++)
            assert_true(hash_table_add(&hash_table, &many[at],
                                       hash_table_hash(1 + at * steps[which], UINT64_C(0x9e3779b97f4a7c15))));
        assert_true(longest(&hash_table) <= 16);
        int64_t most = account()->used - before;
        for (size_t at = 0; at < MANY - 5; at++)
            hash_table_remove(&hash_table, &many[at]);
        assert_true(account()->used - before <= most / 64);
        for (size_t at = MANY - 5; at < MANY; at++) {
            assert_ptr_equal(hash_table_find(&hash_table, many[at].hash), &many[at]);
            hash_table_remove(&hash_table, &many[at]);
        }
        hash_table_deinit(&hash_table);
    }
}

static void without_memory_it_doesnt_grow(void **state) {
    struct hash_table hash_table;
    (void)state;
    hash_table_init(&hash_table, account());
    memory_fail(0, 1);
    assert_false(hash_table_add(&hash_table, &things[0].node, 0));
    for (size_t index = 0; index < THINGS; index++) {
        if (index)
            memory_fail(0, 1); // what needs none doesn't count
        assert_true(hash_table_add(&hash_table, &things[index].node, index));
    }
    assert_true(hash_table.capacity < THINGS);
    for (size_t index = 0; index < THINGS; index++) {
        assert_true(is_found(&hash_table, &things[index], index));
        hash_table_remove(&hash_table, &things[index].node);
    }
    assert_null(hash_table_find(&hash_table, 7));
    hash_table_deinit(&hash_table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_sequence_agrees_with_a_table),
        cmocka_unit_test(numbers_in_turn_are_spread),
        cmocka_unit_test(buckets_stay_short_and_memory_is_given_back),
        cmocka_unit_test(without_memory_it_doesnt_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
