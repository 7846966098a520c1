// Memory in pages of its own: what a former block touched beyond the new one's end isn't resident.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "core/memory.h"

enum { FORMER_BYTES = 8 * 1024 * 1024, WHOLE_BYTES = 48 * 1024, WHOLE_MAX = 64 };

// The sanitizers' allocator lays blocks as it likes.
#ifdef PATCHBAY_MIMALLOC
// Of the pages from the one that holds `at`, how many in a row are resident.
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
#endif
        cmocka_unit_test(a_failure_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
