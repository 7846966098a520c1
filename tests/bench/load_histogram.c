// The latency histogram: every figure that a run reports passes through it.
// Success: each value comes back within the width of a bucket, never too low. Failure: a wrong bucket
// shows at the powers of two, where the width changes.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "bench/load/load_histogram.h"

static struct histogram *create(void) {
    struct histogram *histogram = calloc(1, sizeof *histogram);
    assert_non_null(histogram);
    return histogram;
}

// `value` beside one far larger, so that what comes back is its bucket and not the maximum.
static void check_value(uint64_t value) {
    struct histogram *histogram = create();
    histogram_record(histogram, value);
    histogram_record(histogram, UINT64_MAX);
    uint64_t found = histogram_at(histogram, 0.5);
    assert_true(found >= value);
    assert_true(found - value <= value >> HISTOGRAM_BITS);
    assert_true(histogram->max == UINT64_MAX);
    free(histogram);
}

static void values_come_back_within_a_bucket(void **state) {
    (void)state;
    for (uint64_t value = 0; value < 5000; value++) {
        check_value(value);
    }
    for (unsigned power = 12; power < 64; power++) {
        uint64_t value = 1ULL << power;
        check_value(value - 1);
        check_value(value);
        check_value(value + 1);
        check_value(value + value / 3);
    }
    check_value(UINT64_MAX);
}

static void shares_count_from_below(void **state) {
    (void)state;
    struct histogram *histogram = create();
    assert_true(histogram_at(histogram, 0.5) == 0);
    for (uint64_t value = 1; value <= 100;
         value++) { // under 128 a bucket holds one value: the results are exact
        histogram_record(histogram, value);
    }
    assert_true(histogram->total == 100);
    assert_true(histogram_at(histogram, 0) == 1);
    assert_true(histogram_at(histogram, 0.50) == 50);
    assert_true(histogram_at(histogram, 0.501) == 51);
    assert_true(histogram_at(histogram, 0.99) == 99);
    assert_true(histogram_at(histogram, 1) == 100);
    free(histogram);
}

static void nothing_is_over_the_maximum(void **state) {
    (void)state;
    struct histogram *histogram = create();
    histogram_record(histogram, 1000001);
    assert_true(histogram_at(histogram, 0.5) == 1000001);
    assert_true(histogram_at(histogram, 1) == 1000001);
    free(histogram);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back_within_a_bucket),
        cmocka_unit_test(shares_count_from_below),
        cmocka_unit_test(nothing_is_over_the_maximum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
