// The pauses between two dials of a server: they double up to a maximum, less a random part.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/base/reconnect_backoff.h"

static const struct siphash_key key = {{1, 2}};

static void check_next(struct reconnect_backoff *backoff, uint32_t longest_ms) {
    uint32_t pause_ms = reconnect_backoff_next(backoff, &key);
    assert_in_range(pause_ms, longest_ms - longest_ms / 4 + 1, longest_ms);
}

static void pauses_double_up_to_the_maximum(void **state) {
    (void)state;
    struct reconnect_backoff backoff = {0};
    reconnect_backoff_reset(&backoff);
    for (uint32_t longest_ms = RECONNECT_PAUSE_MS_MIN; longest_ms < RECONNECT_PAUSE_MS_MAX; longest_ms *= 2)
        check_next(&backoff, longest_ms);
    for (int times = 0; times < 3; times++)
        check_next(&backoff, RECONNECT_PAUSE_MS_MAX);
}

static void a_reset_begins_with_the_shortest(void **state) {
    (void)state;
    struct reconnect_backoff backoff = {0};
    reconnect_backoff_reset(&backoff);
    for (int times = 0; times < 10; times++)
        reconnect_backoff_next(&backoff, &key);
    reconnect_backoff_reset(&backoff);
    check_next(&backoff, RECONNECT_PAUSE_MS_MIN);
}

static void random_parts_differ(void **state) {
    (void)state;
    struct reconnect_backoff backoff = {.pause_ms = RECONNECT_PAUSE_MS_MAX};
    uint32_t first_ms = reconnect_backoff_next(&backoff, &key);
    int others = 0;
    for (int times = 0; times < 20; times++)
        others += reconnect_backoff_next(&backoff, &key) != first_ms;
    assert_true(others >= 15);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pauses_double_up_to_the_maximum),
        cmocka_unit_test(a_reset_begins_with_the_shortest),
        cmocka_unit_test(random_parts_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
