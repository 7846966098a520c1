// What a thread takes out of accounts ahead: it is told what the account itself would have said, and nothing stays taken.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// cmocka.h needs the standard headers before it.
#include <cmocka.h>

#include "core/rights/purse.h"
#include "tests/sim/random.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define START  (1000 * SECOND)

static struct account *fresh(void) {
    struct account *account = account_create();
    assert_non_null(account);
    return account;
}

static bool pays_or_passes(struct purses *purses, struct account *account,
                           const struct account_limits *limits, uint64_t now, uint64_t bytes,
                           uint64_t *wait_ms) {
    enum account_limit over;
    *wait_ms = 0;
    if (purse_pays(purses, account, limits, bytes))
        return true;
    *wait_ms = purse_message(purses, account, limits, now, bytes, &over);
    return false;
}

static void most_messages_ask_nobody(void **state) {
    (void)state;
    static const struct account_limits all[] = {
        {.rate = 100000, .bytes = 100000000}, {.rate = 100000}, {.bytes = 100000000}};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        struct purses purses = {0};
        struct account *account = fresh();
        uint64_t wait_ms;
        unsigned paid = 0;
        for (int count = 0; count < 1000; count++) {
            paid += pays_or_passes(&purses, account, &all[at], START, 300, &wait_ms);
            assert_int_equal(wait_ms, 0);
        }
        assert_true(paid >= 990);
        purses_empty(&purses);
        account_drop(account);
    }
}

static void what_is_not_used_is_given_back(void **state) {
    (void)state;
    struct purses purses = {0};
    struct account *account = fresh();
    struct account_limits limits = {.rate = 700, .bytes = 70000};
    uint64_t wait_ms;
    for (int count = 0; count < 10; count++)
        pays_or_passes(&purses, account, &limits, START, 100, &wait_ms);
    assert_true(atomic_load(&account->rate_paid_ns) > START + 10 * (SECOND / 700));
    purses_empty(&purses);
    assert_int_equal(atomic_load(&account->rate_paid_ns), START + 10 * (SECOND / 700));
    assert_in_range(atomic_load(&account->bytes_paid_ns), START + SECOND / 70 - 2, START + SECOND / 70 + 2);
    purses_empty(&purses);
    assert_int_equal(atomic_load(&account->rate_paid_ns), START + 10 * (SECOND / 700));
    account_drop(account);
}

static void a_seconds_worth_and_no_more(void **state) {
    (void)state;
    static const uint64_t rates[] = {1, 15, 16, 31, 32, 33, 1000, 99999};
    for (size_t at = 0; at < sizeof rates / sizeof *rates; at++) {
        struct purses purses = {0};
        struct account *account = fresh(), *plain = fresh();
        struct account_limits limits = {.rate = rates[at]};
        enum account_limit over;
        uint64_t wait_ms = 0;
        for (uint64_t count = 0; count < 2 * rates[at]; count++) {
            pays_or_passes(&purses, account, &limits, START, 1, &wait_ms);
            assert_int_equal(wait_ms, account_message(plain, &limits, START, 1, &over));
            if (count % 7 == 0)
                purses_empty(&purses);
        }
        assert_true(wait_ms > 0);
        purses_empty(&purses);
        account_drop(account);
        account_drop(plain);
    }
}

static void limits_that_change(void **state) {
    (void)state;
    struct purses purses = {0};
    struct account *account = fresh();
    struct account_limits before = {.rate = 1600}, after = {.rate = 20};
    uint64_t wait_ms;
    for (int count = 0; count < 16; count++)
        pays_or_passes(&purses, account, &before, START, 1, &wait_ms);
    unsigned passed = 0;
    for (int count = 0; count < 100; count++) {
        pays_or_passes(&purses, account, &after, START, 1, &wait_ms);
        passed += wait_ms == 0;
    }
    assert_int_equal(passed, 19); // 16 of the 1,600 are a hundredth of a second
    purses_empty(&purses);
    account_drop(account);
}

// Answers as well, which are never refused.
static void nothing_is_owed_for_nothing(void **state) {
    (void)state;
    enum { USERS = 24, STEPS = 200000 };
    struct random random;
    random_init(&random, 1);
    struct purses purses = {0};
    struct account *tried[USERS], *plain[USERS];
    struct account_limits limits[USERS];
    for (unsigned user = 0; user < USERS; user++) {
        tried[user] = fresh();
        plain[user] = fresh();
        limits[user] = (struct account_limits){.rate = user % 3 ? random_between(&random, 1, 3000) : 0};
        limits[user].pending = (uint32_t)(user % 4 ? random_between(&random, 1, 300) : 0);
    }
    uint64_t now = START;
    for (unsigned step = 0; step < STEPS; step++) {
        unsigned user = (unsigned)random_below(&random, USERS), act = (unsigned)random_below(&random, 100);
        enum account_limit over;
        if (act < 50) {
            uint64_t wait_ms;
            pays_or_passes(&purses, tried[user], &limits[user], now, 1, &wait_ms);
            assert_int_equal(wait_ms, account_message(plain[user], &limits[user], now, 1, &over));
        } else if (act < 60) {
            if (limits[user].rate &&
                !purse_pays(&purses, tried[user], &limits[user], 1)) // else nobody charges him
                purse_charge(&purses, tried[user], &limits[user], now, 1);
            account_charge(plain[user], &limits[user], now, 1);
        } else if (act < 85) {
            assert_int_equal(purse_ask(&purses, tried[user], limits[user].pending),
                             account_ask(plain[user], limits[user].pending));
        } else if (act < 97 && atomic_load(&plain[user]->pending) > 0) {
            purse_answer(&purses, tried[user]);
            account_answer(plain[user]);
        } else if (act == 97) {
            limits[user].pending = limits[user].pending ? (uint32_t)random_between(&random, 1, 300) : 0;
        } else if (act == 98) {
            purses_empty(&purses);
            now += random_below(&random, 20 * MS);
        }
    }
    purses_empty(&purses);
    for (unsigned user = 0; user < USERS; user++) {
        assert_int_equal(atomic_load(&tried[user]->pending), atomic_load(&plain[user]->pending));
        assert_int_equal(atomic_load(&tried[user]->rate_paid_ns), atomic_load(&plain[user]->rate_paid_ns));
        account_drop(tried[user]);
        account_drop(plain[user]);
    }
}

static void places_are_given_back(void **state) {
    (void)state;
    struct purses purses = {0};
    struct account *account = fresh();
    for (int count = 0; count < 5; count++)
        assert_true(purse_ask(&purses, account, 1000));
    assert_true(atomic_load(&account->pending) > 5);
    purses_empty(&purses);
    assert_int_equal(atomic_load(&account->pending), 5);
    purse_answer(&purses, account);
    assert_int_equal(atomic_load(&account->pending), 5);
    assert_true(purse_ask(&purses, account, 5));
    assert_false(purse_ask(&purses, account, 5));
    purse_answer(&purses, account);
    assert_false(purse_ask(&purses, account, 4)); // a reload made it less
    purses_empty(&purses);
    assert_int_equal(atomic_load(&account->pending), 4);
    account_drop(account);
}

// --- Many threads, of which each has its own purses

struct turner {
    pthread_t thread;
    struct account *account;
    _Atomic uint32_t *pending; // in truth
    uint32_t passed, most;
};

static const struct account_limits shared = {.rate = 3000, .bytes = 4000 * 10, .pending = 700};

static void *take_turns(void *context) {
    struct turner *turner = context;
    struct purses purses = {0};
    uint64_t wait_ms;
    uint32_t own = 0;
    for (uint32_t count = 0; count < 20000; count++) {
        pays_or_passes(&purses, turner->account, &shared, START, 10, &wait_ms);
        turner->passed += wait_ms == 0;
        if (count / 300 % 2 == 0 && purse_ask(&purses, turner->account, shared.pending)) {
            uint32_t now = atomic_fetch_add(turner->pending, 1) + 1;
            turner->most = now > turner->most ? now : turner->most;
            own++;
        } else if (own > 0) {
            atomic_fetch_sub(turner->pending, 1);
            purse_answer(&purses, turner->account);
            own--;
        }
        if (count % 64 == 0)
            purses_empty(&purses);
    }
    for (; own > 0; own--) {
        atomic_fetch_sub(turner->pending, 1);
        purse_answer(&purses, turner->account);
    }
    purses_empty(&purses);
    return NULL;
}

// None gets more than there is; and all of it is had in the end, since nothing stays in anybody's purse.
static void several_shards_of_one_account(void **state) {
    (void)state;
    enum { THREADS = 4 };
    struct turner turners[THREADS];
    struct account *account = fresh();
    _Atomic uint32_t pending = 0;
    uint32_t passed = 0;
    for (int at = 0; at < THREADS; at++) {
        turners[at] = (struct turner){.account = account, .pending = &pending};
        assert_int_equal(pthread_create(&turners[at].thread, NULL, take_turns, &turners[at]), 0);
    }
    for (int at = 0; at < THREADS; at++) {
        pthread_join(turners[at].thread, NULL);
        passed += turners[at].passed;
        assert_in_range(turners[at].most, 1, shared.pending);
    }
    assert_int_equal(passed, shared.rate);
    assert_int_equal(atomic_load(&account->pending), 0);
    account_drop(account);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(most_messages_ask_nobody),      cmocka_unit_test(what_is_not_used_is_given_back),
        cmocka_unit_test(a_seconds_worth_and_no_more),   cmocka_unit_test(limits_that_change),
        cmocka_unit_test(nothing_is_owed_for_nothing),   cmocka_unit_test(places_are_given_back),
        cmocka_unit_test(several_shards_of_one_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
