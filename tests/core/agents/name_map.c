// The table of names, above all taking names out of runs of colliding ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <stdio.h>

#include "core/agents/name_map.h"
#include "core/base/memory.h"
#include "tests/core/base/account.h"

enum { KEYS = 500 };

static char keys[KEYS][16];

static size_t key(size_t index) {
    return (size_t)snprintf(keys[index], sizeof keys[index], "name-%zu", index);
}

// Any sequence of adding and taking out agrees with a table of flags.
static void any_sequence_agrees_with_a_table(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 5; seed++) {
        struct name_map map;
        bool there[KEYS] = {false};
        uint32_t number = 12345;
        name_map_init(&map, &(struct siphash_key){{seed, 7}}, account());
        for (unsigned round = 0; round < 5000; round++) {
            number = number * 1664525 + 1013904223;
            size_t index = (number >> 8) % KEYS, bytes = key(index);
            if (there[index])
                name_map_remove(&map, keys[index], bytes);
            else
                assert_true(name_map_add(&map, keys[index], bytes, &keys[index]));
            there[index] = !there[index];
            if (round % 1000 > 900 && there[index]) { // fewer again
                name_map_remove(&map, keys[index], bytes);
                there[index] = false;
            }
            if (round % 7 == 0)
                name_map_shrink(&map);
            assert_true(map.table.capacity <= 1024);
            if (round % 50)
                continue;
            for (size_t other = 0; other < KEYS; other++) {
                size_t other_bytes = key(other);
                assert_ptr_equal(name_map_get(&map, keys[other], other_bytes),
                                 there[other] ? &keys[other] : NULL);
            }
        }
        name_map_deinit(&map);
    }
}

static void a_name_is_all_its_bytes(void **state) {
    (void)state;
    struct name_map map;
    int value;
    name_map_init(&map, &TABLE_KEY, account());
    assert_null(name_map_get(&map, "a", 1));
    name_map_remove(&map, "a", 1);
    assert_true(name_map_add(&map, "a\0b", 3, &value));
    assert_null(name_map_get(&map, "a", 1));
    assert_null(name_map_get(&map, "a\0c", 3));
    assert_ptr_equal(name_map_get(&map, "a\0b", 3), &value);
    name_map_deinit(&map);
}

static void without_memory_a_full_table_stays_as_it_is(void **state) {
    (void)state;
    struct name_map map;
    size_t count = 0;
    name_map_init(&map, &TABLE_KEY, account());
    assert_true(name_map_add(&map, keys[0], key(0), &keys[0]));
    memory_fail_after(0);
    while (++count < KEYS && name_map_add(&map, keys[count], key(count), &keys[count]))
        continue;
    memory_fail_after(UINT64_MAX);
    assert_true(count < KEYS);
    assert_int_equal(map.count, count);
    for (size_t index = 0; index <= count; index++)
        assert_ptr_equal(name_map_get(&map, keys[index], strlen(keys[index])),
                         index < count ? &keys[index] : NULL);
    name_map_deinit(&map);
}

// However many there are, one that comes or goes moves few of them, and all are found meanwhile.
static void a_large_table_is_left_in_parts(void **state) {
    (void)state;
    enum { MANY = 20000 };
    static char text[MANY][8];
    struct name_map map;
    unsigned in_both = 0;
    name_map_init(&map, &TABLE_KEY, account());
    for (size_t index = 0; index < MANY; index++) {
        size_t bytes = (size_t)snprintf(text[index], sizeof text[index], "%zu", index);
        size_t left = map.left;
        assert_true(name_map_add(&map, text[index], bytes, text[index]));
        assert_true(map.left <= left + 64);
        in_both += map.leaving.chunks != NULL;
        size_t other = index * 7919 % (index + 1);
        assert_ptr_equal(name_map_get(&map, text[other], strlen(text[other])), text[other]);
    }
    assert_in_range(in_both, 100, MANY / 2);
    in_both = 0;
    for (size_t index = 0; index < MANY; index++) {
        size_t left = map.left;
        name_map_remove(&map, text[index], strlen(text[index]));
        name_map_shrink(&map);
        assert_true(map.left <= left + 64);
        in_both += map.leaving.chunks != NULL;
        assert_null(name_map_get(&map, text[index], strlen(text[index])));
        if (index + 1 < MANY) {
            const char *last = text[MANY - 1];
            name_map_replace(&map, last, strlen(last), text[index]);
            assert_ptr_equal(name_map_get(&map, last, strlen(last)), text[index]);
        }
    }
    assert_in_range(in_both, 100, MANY / 2);
    assert_null(map.table.chunks);
    name_map_deinit(&map);
}

static const char *key_in(const struct name_table *table, size_t slot) {
    size_t slots = table->capacity < 512 ? table->capacity : 512; // of a chunk
    const struct name_entry *chunk = table->chunks[slot / slots];
    return chunk ? chunk[slot % slots].key : NULL;
}

// Where a name lies depends on each bit of the key: who knows the rest of it can't tell.
static void each_bit_of_the_key_moves_the_names(void **state) {
    (void)state;
    for (unsigned bit = 0; bit < 128; bit++) {
        struct siphash_key hash_keys[2] = {{{1, 2}}, {{1, 2}}};
        struct name_map map[2];
        unsigned same = 0;
        hash_keys[1].words[bit / 64] ^= UINT64_C(1) << bit % 64;
        for (unsigned which = 0; which < 2; which++) {
            name_map_init(&map[which], &hash_keys[which], account());
            for (size_t index = 0; index < KEYS; index++)
                assert_true(name_map_add(&map[which], keys[index], key(index), &keys[index]));
        }
        for (size_t slot = 0; slot < map[0].table.capacity; slot++) {
            const char *one = key_in(&map[0].table, slot);
            same += one && one == key_in(&map[1].table, slot);
        }
        assert_in_range(same, 0, KEYS / 20); // by chance, one or so
        for (unsigned which = 0; which < 2; which++)
            name_map_deinit(&map[which]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bit_of_the_key_moves_the_names),
        cmocka_unit_test(any_sequence_agrees_with_a_table),
        cmocka_unit_test(a_large_table_is_left_in_parts),
        cmocka_unit_test(a_name_is_all_its_bytes),
        cmocka_unit_test(without_memory_a_full_table_stays_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
