// Which pages are resident: what a former block touched beyond a new one's end isn't, nor what was given.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/base/memory.h"

enum { FORMER_BYTES = 8 * 1024 * 1024, WHOLE_BYTES = 48 * 1024, WHOLE_MAX = 64 };

// The sanitizers' allocator lays blocks as it likes.
#ifdef PATCHBAY_MIMALLOC
// Returns how many pages in a row are resident, from the one that holds `at` on.
static size_t resident_pages(const uint8_t *at, size_t page) {
    uint8_t *first = (uint8_t *)(uintptr_t)((uintptr_t)at / page * page);
    unsigned char there = 1;
    size_t count = 0;
    while (mincore(first + count * page, page, &there) == 0 && (there & 1) && count < 1024)
        count++;
    return count;
}

static void nothing_is_left_of_a_former_block(void **state) {
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *former = memory_take(FORMER_BYTES), *whole[WHOLE_MAX];
    memset(former, 1, FORMER_BYTES);
    uintptr_t begin = (uintptr_t)former, reused = 0;
    memory_give(former);
    for (size_t index = 0; index < WHOLE_MAX; index++) {
        whole[index] = memory_take_whole(WHOLE_BYTES);
        memset(whole[index], 2, WHOLE_BYTES);
        reused += (uintptr_t)whole[index] - begin < FORMER_BYTES;
        assert_in_range(resident_pages(whole[index], page), WHOLE_BYTES / page, WHOLE_BYTES / page + 1);
    }
    assert_true(reused > WHOLE_MAX / 4); // the place of the former one was taken
    for (size_t index = 0; index < WHOLE_MAX; index++)
        memory_give(whole[index]);
}

static size_t all_resident_pages(uint8_t *const blocks[WHOLE_MAX], size_t page) {
    size_t count = 0;
    for (size_t index = 0; index < WHOLE_MAX; index++)
        count += resident_pages(blocks[index] + page, page);
    return count;
}

// The allocator waits for some milliseconds: it is asked until they are over.
static void what_was_given_goes_back_to_the_system(void **state) {
    (void)state;
    enum { SECONDS = 5 };
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before;
    uint8_t *whole[WHOLE_MAX];
    for (size_t index = 0; index < WHOLE_MAX; index++) {
        whole[index] = memory_take_whole(WHOLE_BYTES);
        memset(whole[index], 3, WHOLE_BYTES);
    }
    before = all_resident_pages(whole, page);
    assert_true(before >= WHOLE_MAX * (WHOLE_BYTES / page - 1));
    for (size_t index = 1; index < WHOLE_MAX; index++) // the first one keeps the place in use
        memory_give(whole[index]);
    for (time_t until = time(NULL) + SECONDS; all_resident_pages(whole, page) > before / 4;) {
        assert_true(time(NULL) < until);
        memory_collect();
    }
    memory_give(whole[0]);
}
#endif

static void a_failure_is_told(void **state) {
    (void)state;
    memory_fail(1, 1);
    void *first = memory_take_whole(WHOLE_BYTES), *second = memory_take_whole(WHOLE_BYTES);
    assert_non_null(first);
    assert_null(second);
    memory_give(first);
    assert_int_equal(memory_fail(0, 0), UINT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#ifdef PATCHBAY_MIMALLOC
        cmocka_unit_test(nothing_is_left_of_a_former_block),
        cmocka_unit_test(what_was_given_goes_back_to_the_system),
#endif
        cmocka_unit_test(a_failure_is_told),
    };
    memory_begin();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
