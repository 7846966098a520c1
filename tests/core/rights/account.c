// A user's usage: rates, bounds, and the lines of its refusals. Time is a number here.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rights/account.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define START  (1000 * SECOND)

static _Thread_local enum account_limit over; // as the last question said

static struct account *fresh(void) {
    struct account *account = account_create(0);
    assert_non_null(account);
    return account;
}

// How many messages of `bytes` pass at once.
static uint32_t passing(struct account *account, const struct account_limits *limits, uint64_t now,
                        uint64_t bytes) {
    uint32_t count = 0;
    while (count < 5000 && account_message(account, limits, now, bytes, &over) == 0)
        count++;
    return count;
}

static void a_seconds_worth_at_once(void **state) {
    (void)state;
    static const uint64_t rates[] = {1, 3, 7, 10, 1000, 3000};
    for (size_t at = 0; at < sizeof rates / sizeof *rates; at++) {
        struct account *account = fresh();
        struct account_limits limits = {.rate = rates[at]};
        assert_int_equal(passing(account, &limits, START, 0), rates[at]);
        assert_int_equal(passing(account, &limits, START, 0), 0);
        assert_int_equal(passing(account, &limits, START + SECOND, 0), rates[at]);
        account_drop(account);
    }
}

static void it_is_paid_off_as_time_goes_by(void **state) {
    (void)state;
    struct account *account = fresh();
    struct account_limits limits = {.rate = 10};
    assert_int_equal(passing(account, &limits, START, 0), 10);
    assert_int_equal(account_message(account, &limits, START, 0, &over), 100);
    assert_int_equal(account_message(account, &limits, START + 40 * MS, 0, &over), 60);
    assert_int_equal(account_message(account, &limits, START + 100 * MS - 1, 0, &over), 1);
    assert_int_equal(account_message(account, &limits, START + 100 * MS, 0, &over), 0);
    assert_int_equal(account_message(account, &limits, START + 100 * MS, 0, &over), 100);
    // A user that refuses itself nothing is owed no more for waiting longer.
    assert_int_equal(passing(account, &limits, START + 3600 * SECOND, 0), 10);
    account_drop(account);
}

static void what_is_larger_than_a_second(void **state) {
    (void)state;
    struct account *account = fresh();
    struct account_limits limits = {.bytes = 1000};
    assert_int_equal(account_message(account, &limits, START, 5000, &over), 0);
    assert_int_equal(account_message(account, &limits, START, 1, &over), 4001);
    assert_int_equal(account_message(account, &limits, START, 1000, &over), 5000);
    assert_int_equal(account_message(account, &limits, START, 5000, &over), 5000);
    assert_int_equal(account_message(account, &limits, START + 4 * SECOND, 1, &over), 1);
    assert_int_equal(account_message(account, &limits, START + 4001 * MS, 1, &over), 0);
    assert_int_equal(account_message(account, &limits, START + 5 * SECOND, 5000, &over), 1);
    assert_int_equal(account_message(account, &limits, START + 5001 * MS, 5000, &over), 0);
    account_drop(account);
}

static void what_is_refused_takes_nothing(void **state) {
    (void)state;
    struct account *account = fresh();
    struct account_limits limits = {.rate = 5, .bytes = 100};
    assert_int_equal(account_message(account, &limits, START, 100, &over), 0);
    for (int again = 0; again < 100; again++)
        assert_int_equal(account_message(account, &limits, START, 100, &over), 1000);
    assert_int_equal(over, LIMIT_BYTES);
    assert_int_equal(passing(account, &limits, START, 0), 4);
    assert_int_equal(over, LIMIT_RATE);
    account_drop(account);
}

static void without_limits(void **state) {
    (void)state;
    struct account *account = fresh();
    struct account_limits none = {0};
    assert_int_equal(passing(account, &none, START, UINT64_MAX), 5000);
    assert_int_equal(account_fanout(account, &none, START, UINT64_MAX), 0);
    struct account_limits rate = {.rate = 1};
    assert_int_equal(passing(account, &rate, START, 0), 1);
    for (int count = 0; count < 1000; count++)
        assert_true(account_connect(account, 0) && account_begin_pending(account, 0) &&
                    account_count_held(account, 0));
    account_drop(account);
}

static void each_limit_has_its_name_and_number(void **state) {
    (void)state;
    static const char *const names[LIMITS_COUNT] = {"rate", "bytes", "fanout", "connections", "pending"};
    struct account_limits limits = {.rate = 1, .bytes = 2, .fanout = 3, .connections = 4, .pending = 5};
    for (enum account_limit which = 0; which < LIMITS_COUNT; which++) {
        assert_string_equal(account_limit_text(which), names[which]);
        assert_int_equal(account_limit_of(&limits, which), which + 1);
    }
}

static void what_is_never_refused(void **state) {
    (void)state;
    struct account *account = fresh();
    struct account_limits limits = {.rate = 10, .bytes = 1000};
    for (int count = 0; count < 1000; count++)
        account_charge(account, &limits, START, 100);
    assert_int_equal(account_message(account, &limits, START, 0, &over), 100);
    assert_int_equal(passing(account, &limits, START + SECOND, 0), 10);
    assert_int_equal(account_message(account, &limits, START + 2 * SECOND, 5000, &over), 0);
    account_charge(account, &limits, START + 2 * SECOND, 100); // no less is owed than before
    assert_int_equal(account_message(account, &limits, START + 2 * SECOND, 1000, &over), 5000);
    account_drop(account);
}

static void deliveries(void **state) {
    (void)state;
    struct account *account = fresh();
    struct account_limits limits = {.rate = 1, .bytes = 1, .fanout = 100};
    assert_int_equal(account_fanout(account, &limits, START, 0), 0);
    assert_int_equal(account_fanout(account, &limits, START, 60), 0);
    assert_int_equal(account_fanout(account, &limits, START, 60), 200);
    assert_int_equal(account_fanout(account, &limits, START, 40), 0);
    assert_int_equal(account_message(account, &limits, START, 1, &over), 0); // which has debts of its own
    account_fanout_made(account, &limits, START, 40, 10);
    assert_int_equal(account_fanout(account, &limits, START, 30), 0);
    account_fanout_made(account, &limits, START, 30, 130);
    assert_int_equal(account_fanout(account, &limits, START, 1), 1010);
    account_drop(account);
}

static void bounds(void **state) {
    (void)state;
    struct account *account = fresh();
    assert_true(account_connect(account, 2) && account_connect(account, 2));
    assert_false(account_connect(account, 2));
    assert_false(account_connect(account, 1)); // a reload made it less
    assert_true(account_begin_pending(account, 1));
    assert_false(account_begin_pending(account, 1));
    assert_true(account_count_held(account, 1));
    assert_false(account_count_held(account, 1));
    account_disconnect(account);
    account_end_pending(account);
    account_uncount_held(account);
    assert_true(account_connect(account, 2) && account_begin_pending(account, 1) &&
                account_count_held(account, 1));
    assert_true(account_count_held_bytes(account, 60, 100) && account_count_held_bytes(account, 40, 100));
    assert_false(account_count_held_bytes(account, 1, 100));
    account_uncount_held_bytes(account, 40);
    assert_false(account_count_held_bytes(account, 41, 100));
    assert_false(account_count_held_bytes(account, UINT64_MAX, 0));
    assert_true(account_count_held_bytes(account, 40, 100) && account_count_held_bytes(account, 1000, 0));
    account_drop(account);
}

static void lines_of_refusals(void **state) {
    (void)state;
    struct account *account = fresh();
    uint32_t suppressed = 99;
    for (int count = 0; count < 25; count++) {
        assert_int_equal(account_refuse(account, START + (uint64_t)count, &suppressed), count < 10);
        assert_int_equal(account_reports(account, START + (uint64_t)count), count < 10);
        assert_int_equal(suppressed, 0);
    }
    assert_int_equal(account_suppressed(account, START + 999 * MS), 0); // the second isn't over
    assert_true(account_suppresses(account));
    assert_true(account_reports(account, START + SECOND));
    assert_true(account_refuse(account, START + SECOND, &suppressed));
    assert_int_equal(suppressed, 15);
    assert_true(account_refuse(account, START + SECOND, &suppressed));
    assert_int_equal(suppressed, 0);
    for (int count = 0; count < 11; count++)
        account_refuse(account, START + SECOND, &suppressed);
    assert_int_equal(account_suppressed(account, START + 2 * SECOND), 3);
    assert_int_equal(account_suppressed(account, START + 2 * SECOND), 0);
    assert_false(account_suppresses(account));
    assert_true(account_refuse(account, START + 2 * SECOND, &suppressed));
    assert_int_equal(suppressed, 0);
    account_drop(account);
}

// --- Many threads

struct taker {
    struct account *account;
    uint32_t passed, connected;
};

static const struct account_limits shared = {.rate = 1000, .bytes = 500 * 10};

static void *take_all(void *context) {
    struct taker *taker = context;
    for (int count = 0; count < 20000; count++) {
        taker->passed += account_message(taker->account, &shared, START, 10, &over) == 0;
        taker->connected += account_connect(taker->account, 777);
    }
    return NULL;
}

static void one_account_for_all_shards(void **state) {
    (void)state;
    enum { THREADS = 4 };
    struct taker takers[THREADS];
    pthread_t threads[THREADS];
    struct account *account = fresh();
    uint32_t passed = 0, connected = 0;
    for (int at = 0; at < THREADS; at++) {
        takers[at] = (struct taker){.account = account};
        assert_int_equal(pthread_create(&threads[at], NULL, take_all, &takers[at]), 0);
    }
    for (int at = 0; at < THREADS; at++) {
        pthread_join(threads[at], NULL);
        passed += takers[at].passed;
        connected += takers[at].connected;
    }
    // Units that the bytes refuse are given back to the rate, so that meanwhile the rate refuses too much,
    // never too little.
    assert_true(passed <= 500 && passed > 0);
    assert_int_equal(connected, 777);
    account_drop(account);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seconds_worth_at_once),
        cmocka_unit_test(it_is_paid_off_as_time_goes_by),
        cmocka_unit_test(what_is_larger_than_a_second),
        cmocka_unit_test(what_is_refused_takes_nothing),
        cmocka_unit_test(without_limits),
        cmocka_unit_test(each_limit_has_its_name_and_number),
        cmocka_unit_test(what_is_never_refused),
        cmocka_unit_test(deliveries),
        cmocka_unit_test(bounds),
        cmocka_unit_test(lines_of_refusals),
        cmocka_unit_test(one_account_for_all_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
