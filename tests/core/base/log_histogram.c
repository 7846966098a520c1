// A bucket a power of two: what falls where, and what the quantiles say of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/base/log_histogram.h"

static struct log_histogram_view view_of(const struct log_histogram *histogram) {
    struct log_histogram_view view = {0};
    log_histogram_read(histogram, &view);
    return view;
}

static void test_a_value_falls_under_the_next_power_of_two(void **state) {
    (void)state;
    assert_int_equal(log_histogram_bucket(0), 0);
    for (unsigned bits = 1; bits < LOG_HISTOGRAM_BUCKETS; bits++) {
        assert_int_equal(log_histogram_bucket(UINT64_C(1) << (bits - 1)), bits);
        assert_int_equal(log_histogram_bucket((UINT64_C(1) << bits) - 1), bits);
    }
    assert_int_equal(log_histogram_bucket(UINT64_MAX), LOG_HISTOGRAM_BUCKETS - 1);
}

static void test_what_is_recorded_adds_up(void **state) {
    (void)state;
    struct log_histogram histogram = {0}, other = {0};
    log_histogram_record(&histogram, 5, 3);
    log_histogram_record(&histogram, 0, 1);
    log_histogram_record(&other, 4, 2);
    struct log_histogram_view view = view_of(&histogram);
    log_histogram_read(&other, &view);
    assert_int_equal(view.count, 6);
    assert_int_equal(view.sum, 5 * 3 + 4 * 2);
    assert_int_equal(view.buckets[0], 1);
    assert_int_equal(view.buckets[3], 5);
}

static void test_a_quantile_is_over_the_share(void **state) {
    (void)state;
    struct log_histogram histogram = {0};
    struct log_histogram_view view = view_of(&histogram);
    assert_int_equal(log_histogram_quantile(&view, 0.99), 0);
    log_histogram_record(&histogram, 0, 1);
    view = view_of(&histogram);
    assert_int_equal(log_histogram_quantile(&view, 0.5), 0);
    log_histogram_record(&histogram, 100, 98);
    log_histogram_record(&histogram, 5000, 1);
    view = view_of(&histogram);
    assert_int_equal(log_histogram_quantile(&view, 0), 0);
    assert_int_equal(log_histogram_quantile(&view, 0.5), 128);
    assert_int_equal(log_histogram_quantile(&view, 0.99), 128);
    assert_int_equal(log_histogram_quantile(&view, 1), 8192);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_falls_under_the_next_power_of_two),
        cmocka_unit_test(test_what_is_recorded_adds_up),
        cmocka_unit_test(test_a_quantile_is_over_the_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
