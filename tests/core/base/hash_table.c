// The table of what lies elsewhere: what is in it is found, however many have one hash, and nothing else.
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
    uint64_t hash;
    struct hash_node node;
    bool there;
} things[THINGS], many[MANY];

static uint64_t hash_of(const struct hash_table *hash_table, const struct hash_node *node) {
    (void)hash_table;
    return hash_table_entry(node, struct thing, node)->hash;
}

static bool is_found(const struct hash_table *hash_table, const struct thing *thing) {
    for (struct hash_node *node = hash_table_find(hash_table, thing->hash); node; node = node->next)
        if (hash_table_entry(node, struct thing, node) == thing)
            return true;
    return false;
}

// With few hashes, and with many.
static void any_sequence_agrees_with_a_table(void **state) {
    (void)state;
    for (uint64_t hashes = 1; hashes < 1000; hashes *= 9) {
        struct hash_table hash_table;
        uint32_t number = 12345;
        hash_table_init(&hash_table, hash_of, hashes > 1 ? account() : NULL);
        for (size_t index = 0; index < THINGS; index++)
            things[index] = (struct thing){.hash = hash_table_hash(index % hashes, 99)};
        for (unsigned round = 0; round < 5000; round++) {
            number = number * 1664525 + 1013904223;
            size_t index = (number >> 8) % THINGS;
            struct thing *thing = &things[index];
            if (thing->there)
                hash_table_remove(&hash_table, &thing->node);
            else
                assert_true(hash_table_add(&hash_table, &thing->node));
            thing->there = !thing->there;
            if (round % 50)
                continue;
            for (size_t other = 0; other < THINGS; other++)
                assert_true(is_found(&hash_table, &things[other]) == things[other].there);
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
    static const uint64_t steps[] = {1, (uint64_t)1 << 32, ((uint64_t)1 << 31) + 1};
    (void)state;
    for (size_t which = 0; which < sizeof steps / sizeof *steps; which++) {
        struct hash_table hash_table;
        hash_table_init(&hash_table, hash_of, account());
        int64_t before = account()->used;
        for (size_t at = 0; at < MANY; at++) {
            many[at].hash = hash_table_hash(1 + at * steps[which], UINT64_C(0x9e3779b97f4a7c15));
            assert_true(hash_table_add(&hash_table, &many[at].node));
        }
        assert_true(longest(&hash_table) <= 16);
        int64_t most = account()->used - before;
        for (size_t at = 0; at < MANY - 5; at++)
            hash_table_remove(&hash_table, &many[at].node);
        assert_true(account()->used - before <= most / 4);
        for (size_t times = 0; times < MANY; times++) {
            assert_true(hash_table_add(&hash_table, &many[0].node));
            hash_table_remove(&hash_table, &many[0].node);
        }
        assert_true(account()->used - before <= most / 64);
        for (size_t at = MANY - 5; at < MANY; at++) {
            assert_true(is_found(&hash_table, &many[at]));
            hash_table_remove(&hash_table, &many[at].node);
        }
        hash_table_deinit(&hash_table);
    }
}

// As the table of requests that come and end in bursts.
static void what_fills_and_empties_stays_as_it_is(void **state) {
    struct hash_table hash_table;
    size_t capacity = 0;
    (void)state;
    hash_table_init(&hash_table, hash_of, account());
    for (size_t round = 0; round < 100; round++) {
        for (size_t at = 0; at < THINGS; at++) {
            many[at].hash = at;
            assert_true(hash_table_add(&hash_table, &many[at].node));
        }
        capacity = capacity ? capacity : hash_table.capacity;
        for (size_t at = 0; at < THINGS; at++) {
            assert_int_equal(hash_table.capacity, capacity);
            hash_table_remove(&hash_table, &many[at].node);
        }
    }
    hash_table_deinit(&hash_table);
}

// Gone through for each that is removed, they would take seconds. The first that was added is removed first.
static void many_of_one_hash_are_removed_at_once(void **state) {
    struct hash_table hash_table;
    (void)state;
    hash_table_init(&hash_table, hash_of, account());
    for (size_t round = 0; round < 100; round++) {
        for (size_t at = 0; at < MANY; at++) {
            many[at].hash = 7;
            assert_true(hash_table_add(&hash_table, &many[at].node));
            assert_ptr_equal(hash_table_find(&hash_table, 7),
                             &many[at].node); // the latest, however the table grows
        }
        for (size_t at = 0; at < MANY; at++)
            hash_table_remove(&hash_table, &many[at].node);
    }
    hash_table_deinit(&hash_table);
}

// A table that grows, and one that shrinks, moves them.
static void members_of_one_hash_keep_their_order(void **state) {
    struct hash_table hash_table;
    (void)state;
    hash_table_init(&hash_table, hash_of, account());
    for (size_t at = 0; at < MANY; at++) {
        many[at].hash = at % 1000 ? at : 0;
        assert_true(hash_table_add(&hash_table, &many[at].node));
    }
    for (size_t at = 0; at < MANY; at++)
        if (at % 1000)
            hash_table_remove(&hash_table, &many[at].node);
    size_t at = MANY;
    for (struct hash_node *node = hash_table_find(&hash_table, 0); node; node = node->next)
        assert_ptr_equal(node, &many[at -= 1000].node);
    assert_int_equal(at, 0);
    for (; at < MANY; at += 1000)
        hash_table_remove(&hash_table, &many[at].node);
    hash_table_deinit(&hash_table);
}

static void room_is_reserved_at_once(void **state) {
    struct hash_table hash_table;
    (void)state;
    hash_table_init(&hash_table, hash_of, account());
    memory_fail(0, 1);
    assert_false(hash_table_reserve(&hash_table, MANY));
    assert_true(hash_table_reserve(&hash_table, MANY));
    size_t capacity = hash_table.capacity;
    for (size_t at = 0; at < MANY; at++) {
        many[at].hash = at;
        assert_true(hash_table_add(&hash_table, &many[at].node));
        assert_int_equal(hash_table.capacity, capacity);
    }
    for (size_t at = 0; at < MANY; at++)
        hash_table_remove(&hash_table, &many[at].node);
    hash_table_deinit(&hash_table);
}

static void without_memory_it_doesnt_grow(void **state) {
    struct hash_table hash_table;
    (void)state;
    hash_table_init(&hash_table, hash_of, account());
    for (size_t index = 0; index < THINGS; index++)
        things[index] = (struct thing){.hash = index};
    memory_fail(0, 1);
    assert_false(hash_table_add(&hash_table, &things[0].node));
    for (size_t index = 0; index < THINGS; index++) {
        if (index)
            memory_fail(0, 1); // what needs none doesn't count
        assert_true(hash_table_add(&hash_table, &things[index].node));
    }
    assert_true(hash_table.capacity < THINGS);
    for (size_t index = 0; index < THINGS; index++) {
        assert_true(is_found(&hash_table, &things[index]));
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
        cmocka_unit_test(what_fills_and_empties_stays_as_it_is),
        cmocka_unit_test(many_of_one_hash_are_removed_at_once),
        cmocka_unit_test(members_of_one_hash_keep_their_order),
        cmocka_unit_test(room_is_reserved_at_once),
        cmocka_unit_test(without_memory_it_doesnt_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
