// Chunks that a session keeps. Success: the last chunks within a bound, found by seq. Failure: without memory
// a chunk has its number and isn't there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "core/hcs/history.h"
#include "tests/core/base/account.h"

// Parcels are pointers that nobody follows.
static struct parcel *parcel_named(uint64_t seq) {
    return (struct parcel *)(uintptr_t)(16 * (seq + 1));
}

static void add(struct history *history, uint64_t seq, size_t bytes) {
    assert_true(history_rises(history, seq));
    assert_true(history_add(history, (struct chunk){parcel_named(seq), seq, bytes}));
}

static void empty(struct history *history) {
    while (history_take(history))
        ;
    history_deinit(history);
}

static void seqs_rise(void **state) {
    (void)state;
    struct history history;
    history_init(&history, account());
    assert_true(history_rises(&history, 0));
    add(&history, 0, 1);
    assert_false(history_rises(&history, 0));
    add(&history, 7, 1);
    assert_false(history_rises(&history, 7));
    assert_true(history_rises(&history, 8));
    empty(&history);
}

static void chunks_are_found_by_seq(void **state) {
    (void)state;
    struct history history;
    history_init(&history, account());
    assert_int_equal(history_after(&history, 0), 0);
    for (uint64_t number = 0; number < 100; number++)
        add(&history, 3 * number + 1, 1);
    for (uint64_t seq = 0; seq < 310; seq++) {
        uint64_t number = history_after(&history, seq);
        assert_true(number == history.end || history_at(&history, number)->seq > seq);
        assert_true(number == history.first || history_at(&history, number - 1)->seq <= seq);
    }
    assert_int_equal(history_at(&history, 33)->seq, 100);
    assert_ptr_equal(history_at(&history, 33)->parcel, parcel_named(100));
    assert_null(history_at(&history, 100));
    empty(&history);
}

static void the_oldest_go(void **state) {
    (void)state;
    struct history history;
    history_init(&history, account());
    for (uint64_t seq = 10; seq < 20; seq++) {
        add(&history, seq, 10);
        for (struct parcel *parcel; (parcel = history_trim(&history, 35));)
            assert_ptr_equal(parcel, parcel_named(seq - 3));
    }
    assert_int_equal(history.bytes, 30);
    assert_int_equal(history.first, 7);
    assert_null(history_at(&history, 6));
    assert_int_equal(history_after(&history, 0), 7);
    assert_true(history_lacks(&history, 15));
    assert_false(history_lacks(&history, 16));
    empty(&history);
}

static void without_memory_a_chunk_has_its_number(void **state) {
    (void)state;
    struct history history;
    history_init(&history, account());
    add(&history, 1, 1);
    assert_ptr_equal(history_take(&history), parcel_named(1));
    history.capacity = 0; // as if it had none yet
    quota_give(history.quota, history.ring);
    history.ring = NULL;
    memory_fail_after(0);
    assert_false(history_reserve(&history));
    assert_false(history_add(&history, (struct chunk){parcel_named(2), 2, 1}));
    memory_fail_after(UINT64_MAX);
    assert_int_equal(history.end, 2);
    assert_int_equal(history.first, 2);
    assert_true(history_lacks(&history, 1));
    add(&history, 3, 1);
    assert_int_equal(history_at(&history, 2)->seq, 3);
    empty(&history);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seqs_rise),
        cmocka_unit_test(chunks_are_found_by_seq),
        cmocka_unit_test(the_oldest_go),
        cmocka_unit_test(without_memory_a_chunk_has_its_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
