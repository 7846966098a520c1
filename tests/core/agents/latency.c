// Latencies of agents: quantiles within their bound, windows that go with the minutes, rows of several shards, and the
// one who gives the memory back.
#include "core/agents/latency.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
// cmocka wants these before it
#include <cmocka.h>

static struct buffer_budget budget;
static struct quota quota;

static int begin(void **state) {
    (void)state;
    budget = (struct buffer_budget){.bytes_max = UINT64_C(256) << 20};
    quota_init(&quota, &budget);
    return 0;
}

static int end(void **state) {
    (void)state;
    quota_deinit(&quota);
    return 0;
}

static void a_quantile_is_within_a_quarter(void **state) {
    (void)state;
    for (uint64_t us = 1; us < UINT64_C(3600) * 1000000; us += us / 7 + 1) {
        struct latency *latency = latency_create(&quota, 1);
        struct latency_row *row = latency_begin(&quota, latency, 0);
        struct latency_view view;
        for (unsigned times = 0; times < 100; times++)
            latency_record(row, 1, us, false);
        latency_read(latency, 1, &view);
        assert_int_equal(view.count, 100);
        for (double share = 0; share <= 1; share += 0.25) {
            double found = latency_quantile(&view, share);
            assert_true(found <= 1.25 * (double)us && found >= 0.75 * (double)us);
        }
        latency_end(&quota, row);
        latency_leave(&quota, latency, 0);
    }
    assert_int_equal(quota.used, 0);
}

static void quantiles_tell_few_from_many(void **state) {
    (void)state;
    struct latency *latency = latency_create(&quota, 2);
    struct latency_row *rows[] = {latency_begin(&quota, latency, 0), latency_begin(&quota, latency, 1)};
    struct latency_view view;
    for (unsigned at = 0; at < 1000; at++)
        latency_record(rows[at % 2], 7, at < 980 ? 1000 : 50000, at % 10 == 0);
    latency_read(latency, 7, &view);
    assert_int_equal(view.count, 1000);
    assert_int_equal(view.errors, 100);
    assert_true(latency_quantile(&view, 0.5) > 750 && latency_quantile(&view, 0.5) < 1250);
    assert_true(latency_quantile(&view, 0.99) > 37500 && latency_quantile(&view, 0.99) < 62500);
    latency_end(&quota, rows[0]);
    latency_end(&quota, rows[1]);
    latency_drop(&quota, latency);
    assert_int_equal(quota.used, 0);
}

static void what_is_older_than_the_minute_before_counts_no_more(void **state) {
    (void)state;
    struct latency *latency = latency_create(&quota, 1);
    struct latency_row *row = latency_begin(&quota, latency, 0);
    struct latency_view view;
    latency_record(row, 1, 10, true);
    latency_record(row, 2, 10, false);
    latency_read(latency, 1, &view);
    assert_int_equal(view.count, 1);
    latency_read(latency, 2, &view);
    assert_int_equal(view.count, 2);
    latency_read(latency, 3, &view);
    assert_int_equal(view.count, 1);
    assert_int_equal(view.errors, 0);
    latency_read(latency, 4, &view);
    assert_int_equal(view.count, 0);
    latency_record(row, 5, 10, false);
    latency_read(latency, 5, &view);
    assert_int_equal(view.count, 1);
    latency_end(&quota, row);
    latency_drop(&quota, latency);
    assert_int_equal(quota.used, 0);
}

static void the_last_request_gives_it_back(void **state) {
    (void)state;
    struct latency *latency = latency_create(&quota, 2);
    struct latency_row *one = latency_begin(&quota, latency, 0), *other = latency_begin(&quota, latency, 0);
    latency_hold(latency);
    latency_leave(&quota, latency, 1); // which has no row
    latency_leave(&quota, latency, 0);
    assert_true(quota.used > 0);
    latency_end(&quota, one);
    latency_record(other, 1, 5, false);
    assert_true(quota.used > 0);
    latency_end(&quota, other);
    assert_int_equal(quota.used, 0);
    latency_leave(&quota, NULL, 0);
    latency_end(&quota, NULL);
    assert_null(latency_begin(&quota, NULL, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_quantile_is_within_a_quarter, begin, end),
        cmocka_unit_test_setup_teardown(quantiles_tell_few_from_many, begin, end),
        cmocka_unit_test_setup_teardown(what_is_older_than_the_minute_before_counts_no_more, begin, end),
        cmocka_unit_test_setup_teardown(the_last_request_gives_it_back, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
