// The wall clock as an io tells it, while somebody sets it.
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>

#include "tests/io/fixture.h"

static int64_t ahead_s; // of the kernel's

// Stands before the C library's.
int clock_gettime(clockid_t clock, struct timespec *out) {
    int result = (int)syscall(SYS_clock_gettime, clock, out);
    if (clock == CLOCK_REALTIME)
        out->tv_sec += ahead_s;
    return result;
}

static uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void it_is_read_when_it_is_asked_for(void **state) {
    struct fixture *fixture = *state;
    static const int64_t set_s[] = {0, 3600, -86400, 0};
    for (size_t step = 0; step < sizeof set_s / sizeof *set_s; step++) {
        ahead_s = set_s[step];
        uint64_t before_ms = now_ms(), told_ms = io_wall_ms(fixture->io);
        assert_in_range(told_ms, before_ms, now_ms());
    }
}

static void before_1970_it_is_1970(void **state) {
    struct fixture *fixture = *state;
    ahead_s = -(int64_t)(now_ms() / 1000) - 5;
    assert_int_equal(io_wall_ms(fixture->io), 0);
    ahead_s = 0;
}

int main(int argc, char **argv) {
    choose_backend(argc, argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(it_is_read_when_it_is_asked_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(before_1970_it_is_1970, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
