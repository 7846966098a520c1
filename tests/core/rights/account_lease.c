// Leases of one thread: the thread is told what the account itself would have said, and nothing stays taken.
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
#include "tests/sim/random.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)
#define START  (1000 * SECOND)

static struct account *fresh_of(uint32_t number) {
    struct account *account = account_create(number);
    assert_non_null(account);
    return account;
}

static struct account *fresh(void) {
    return fresh_of(0);
}

static bool pays_or_passes(struct account_leases *account_leases, struct account *account,
                           const struct account_limits *limits, uint64_t now, uint64_t bytes,
                           uint64_t *wait_ms) {
    enum account_limit over;
    *wait_ms = 0;
    if (account_lease_pays(account_leases, account, limits, bytes))
        return true;
    *wait_ms = account_lease_message(account_leases, account, limits, now, bytes, &over);
    return false;
}

static void most_messages_ask_nobody(void **state) {
    (void)state;
    static const struct account_limits all[] = {
        {.rate = 100000, .bytes = 100000000}, {.rate = 100000}, {.bytes = 100000000}};
    for (size_t at = 0; at < sizeof all / sizeof *all; at++) {
        struct account_leases account_leases = {0};
        struct account *account = fresh();
        uint64_t wait_ms;
        unsigned paid = 0;
        for (int count = 0; count < 1000; count++) {
            paid += pays_or_passes(&account_leases, account, &all[at], START, 300, &wait_ms);
            assert_int_equal(wait_ms, 0);
        }
        assert_true(paid >= 990);
        account_leases_empty(&account_leases);
        account_drop(account);
    }
}

static void what_is_not_used_is_given_back(void **state) {
    (void)state;
    struct account_leases account_leases = {0};
    struct account *account = fresh();
    struct account_limits limits = {.rate = 700, .bytes = 70000};
    uint64_t wait_ms;
    for (int count = 0; count < 10; count++)
        pays_or_passes(&account_leases, account, &limits, START, 100, &wait_ms);
    assert_true(atomic_load(&account->rate_paid_ns) > START + 10 * (SECOND / 700));
    account_leases_empty(&account_leases);
    assert_int_equal(atomic_load(&account->rate_paid_ns), START + 10 * (SECOND / 700));
    assert_in_range(atomic_load(&account->bytes_paid_ns), START + SECOND / 70 - 2, START + SECOND / 70 + 2);
    account_leases_empty(&account_leases);
    assert_int_equal(atomic_load(&account->rate_paid_ns), START + 10 * (SECOND / 700));
    account_drop(account);
}

static void a_seconds_worth_and_no_more(void **state) {
    (void)state;
    static const uint64_t rates[] = {1, 15, 16, 31, 32, 33, 1000, 99999};
    for (size_t at = 0; at < sizeof rates / sizeof *rates; at++) {
        struct account_leases account_leases = {0};
        struct account *account = fresh(), *plain = fresh();
        struct account_limits limits = {.rate = rates[at]};
        enum account_limit over;
        uint64_t wait_ms = 0;
        for (uint64_t count = 0; count < 2 * rates[at]; count++) {
            pays_or_passes(&account_leases, account, &limits, START, 1, &wait_ms);
            assert_int_equal(wait_ms, account_message(plain, &limits, START, 1, &over));
            if (count % 7 == 0)
                account_leases_empty(&account_leases);
        }
        assert_true(wait_ms > 0);
        account_leases_empty(&account_leases);
        account_drop(account);
        account_drop(plain);
    }
}

static void limits_that_change(void **state) {
    (void)state;
    struct account_leases account_leases = {0};
    struct account *account = fresh();
    struct account_limits before = {.rate = 1600}, after = {.rate = 20};
    uint64_t wait_ms;
    for (int count = 0; count < 16; count++)
        pays_or_passes(&account_leases, account, &before, START, 1, &wait_ms);
    unsigned passed = 0;
    for (int count = 0; count < 100; count++) {
        pays_or_passes(&account_leases, account, &after, START, 1, &wait_ms);
        passed += wait_ms == 0;
    }
    assert_int_equal(passed, 19); // 16 of the 1,600 are a hundredth of a second
    account_leases_empty(&account_leases);
    account_drop(account);
}

// Users, and beside each one who does the same without a lease.
enum { USERS = 24, EDITIONS = 8 };
struct pairs {
    struct random random;
    struct account_leases account_leases;
    struct account *tried[USERS], *plain[USERS];
    struct account_limits limits[USERS][EDITIONS]; // each change is another one
    unsigned edition[USERS];
    uint64_t now;
};

// Each account's number is `apart` more than the one before.
static void set_up(struct pairs *pairs, uint32_t apart) {
    *pairs = (struct pairs){.now = START};
    random_init(&pairs->random, 1);
    for (unsigned user = 0; user < USERS; user++) {
        uint64_t rate = user % 3 ? random_between(&pairs->random, 1, 3000) : 0;
        uint32_t pending = (uint32_t)(user % 4 ? random_between(&pairs->random, 1, 300) : 0);
        pairs->tried[user] = fresh_of(user * apart);
        pairs->plain[user] = fresh();
        for (unsigned edition = 0; edition < EDITIONS; edition++)
            pairs->limits[user][edition] = (struct account_limits){.rate = rate, .pending = pending};
    }
}

// Nothing in a lease refers to one that is written anew.
static void change(struct pairs *pairs, unsigned user) {
    unsigned before = pairs->edition[user], edition = (before + 1) % EDITIONS;
    struct account_limits *limits = pairs->limits[user];
    if (edition == 0)
        account_leases_empty(&pairs->account_leases);
    limits[edition].pending = limits[before].pending ? (uint32_t)random_between(&pairs->random, 1, 300) : 0;
    pairs->edition[user] = edition;
}

static void act(struct pairs *pairs, unsigned user, unsigned which) {
    struct account *tried = pairs->tried[user], *plain = pairs->plain[user];
    const struct account_limits *limits = &pairs->limits[user][pairs->edition[user]];
    enum account_limit over;
    if (which < 50) {
        uint64_t wait_ms;
        pays_or_passes(&pairs->account_leases, tried, limits, pairs->now, 1, &wait_ms);
        assert_int_equal(wait_ms, account_message(plain, limits, pairs->now, 1, &over));
    } else if (which < 60) {
        if (limits->rate &&
            !account_lease_pays(&pairs->account_leases, tried, limits, 1)) // else nobody charges him
            account_lease_charge(&pairs->account_leases, tried, limits, pairs->now, 1);
        account_charge(plain, limits, pairs->now, 1);
    } else if (which < 85) {
        assert_int_equal(account_lease_begin_pending(&pairs->account_leases, tried, limits),
                         account_begin_pending(plain, limits->pending));
    } else if (which < 97 && atomic_load(&plain->pending) > 0) {
        account_lease_end_pending(&pairs->account_leases, tried);
        account_end_pending(plain);
    } else if (which == 97) {
        change(pairs, user);
    } else if (which == 98) {
        account_leases_empty(&pairs->account_leases);
        pairs->now += random_below(&pairs->random, 20 * MS);
    }
}

static void tear_down(struct pairs *pairs) {
    account_leases_empty(&pairs->account_leases);
    for (unsigned user = 0; user < USERS; user++) {
        struct account *tried = pairs->tried[user], *plain = pairs->plain[user];
        assert_int_equal(atomic_load(&tried->pending), atomic_load(&plain->pending));
        assert_int_equal(atomic_load(&tried->rate_paid_ns), atomic_load(&plain->rate_paid_ns));
        account_drop(tried);
        account_drop(plain);
    }
}

// Answers as well, which are never refused; whether users have a lease each, three have one, or all do.
static void nothing_is_owed_for_nothing(void **state) {
    (void)state;
    static const uint32_t apart[] = {0, 1, 2, ACCOUNT_LEASES_COUNT};
    for (size_t at = 0; at < sizeof apart / sizeof *apart; at++) {
        struct pairs pairs;
        set_up(&pairs, apart[at]);
        for (unsigned step = 0; step < 200000; step++)
            act(&pairs, (unsigned)random_below(&pairs.random, USERS),
                (unsigned)random_below(&pairs.random, 100));
        tear_down(&pairs);
    }
}

// Many at a time of one of two who have one lease, and then of the other.
static void two_of_one_lease(void **state) {
    (void)state;
    struct pairs pairs;
    set_up(&pairs, ACCOUNT_LEASES_COUNT);
    for (unsigned run = 0; run < 5000; run++) {
        unsigned user = (unsigned)random_below(&pairs.random, 2) + 1;
        unsigned count = (unsigned)random_below(&pairs.random, 100);
        for (unsigned step = 0; step < count; step++)
            act(&pairs, user, (unsigned)random_below(&pairs.random, 100));
        assert_ptr_equal(account_lease_of(&pairs.account_leases, pairs.tried[1]),
                         account_lease_of(&pairs.account_leases, pairs.tried[2]));
    }
    tear_down(&pairs);
}

// Which account's lease it is doesn't depend on where the account lies.
static void leases_are_told_by_number(void **state) {
    (void)state;
    struct account_leases account_leases = {0};
    for (uint32_t number = 0; number < (uint32_t)3 * ACCOUNT_LEASES_COUNT; number++) {
        struct account *account = fresh_of(number), *other = fresh_of(number);
        assert_ptr_equal(account_lease_of(&account_leases, account),
                         &account_leases.list[number % ACCOUNT_LEASES_COUNT]);
        assert_ptr_equal(account_lease_of(&account_leases, account),
                         account_lease_of(&account_leases, other));
        account_drop(account);
        account_drop(other);
    }
}

static void places_are_given_back(void **state) {
    (void)state;
    static const struct account_limits many = {.pending = 1000}, few = {.pending = 5}, fewer = {.pending = 4};
    struct account_leases account_leases = {0};
    struct account *account = fresh();
    for (int count = 0; count < 5; count++)
        assert_true(account_lease_begin_pending(&account_leases, account, &many));
    assert_true(atomic_load(&account->pending) > 5);
    account_leases_empty(&account_leases);
    assert_int_equal(atomic_load(&account->pending), 5);
    account_lease_end_pending(&account_leases, account);
    assert_int_equal(atomic_load(&account->pending), 5);
    assert_true(account_lease_begin_pending(&account_leases, account, &few));
    assert_false(account_lease_begin_pending(&account_leases, account, &few));
    account_lease_end_pending(&account_leases, account);
    assert_false(account_lease_begin_pending(&account_leases, account, &fewer)); // a reload made it less
    account_leases_empty(&account_leases);
    assert_int_equal(atomic_load(&account->pending), 4);
    account_drop(account);
}

// Places that were taken ahead by a limit that is less now are as those that were answered.
static void places_of_a_limit_before(void **state) {
    (void)state;
    static const struct account_limits many = {.pending = 1000}, few = {.pending = 5};
    struct account_leases account_leases = {0};
    struct account *account = fresh();
    for (int count = 0; count < 3; count++)
        assert_true(account_lease_begin_pending(&account_leases, account, &many));
    assert_true(atomic_load(&account->pending) > 5);
    assert_true(account_lease_begin_pending(&account_leases, account, &few));
    assert_true(account_lease_begin_pending(&account_leases, account, &few));
    assert_false(account_lease_begin_pending(&account_leases, account, &few));
    assert_true(account_lease_begin_pending(&account_leases, account, &many));
    account_lease_end_pending(&account_leases, account);
    assert_false(account_lease_begin_pending(&account_leases, account, &few));
    account_leases_empty(&account_leases);
    assert_int_equal(atomic_load(&account->pending), 5);
    account_drop(account);
}

// --- Many threads, of which each has its own leases

struct turner {
    pthread_t thread;
    struct account *account;
    _Atomic uint32_t *pending; // in truth
    uint32_t passed, most;
};

static const struct account_limits shared = {.rate = 3000, .bytes = 4000 * 10, .pending = 700};

static void *take_turns(void *context) {
    struct turner *turner = context;
    struct account_leases account_leases = {0};
    uint64_t wait_ms;
    uint32_t own = 0;
    for (uint32_t count = 0; count < 20000; count++) {
        pays_or_passes(&account_leases, turner->account, &shared, START, 10, &wait_ms);
        turner->passed += wait_ms == 0;
        if (count / 300 % 2 == 0 && account_lease_begin_pending(&account_leases, turner->account, &shared)) {
            uint32_t now = atomic_fetch_add(turner->pending, 1) + 1;
            turner->most = now > turner->most ? now : turner->most;
            own++;
        } else if (own > 0) {
            atomic_fetch_sub(turner->pending, 1);
            account_lease_end_pending(&account_leases, turner->account);
            own--;
        }
        if (count % 64 == 0)
            account_leases_empty(&account_leases);
    }
    for (; own > 0; own--) {
        atomic_fetch_sub(turner->pending, 1);
        account_lease_end_pending(&account_leases, turner->account);
    }
    account_leases_empty(&account_leases);
    return NULL;
}

// No shard gets more than there is. All of it is had in the end, since nothing stays in any lease.
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
        cmocka_unit_test(most_messages_ask_nobody),    cmocka_unit_test(what_is_not_used_is_given_back),
        cmocka_unit_test(a_seconds_worth_and_no_more), cmocka_unit_test(limits_that_change),
        cmocka_unit_test(nothing_is_owed_for_nothing), cmocka_unit_test(two_of_one_lease),
        cmocka_unit_test(leases_are_told_by_number),   cmocka_unit_test(places_are_given_back),
        cmocka_unit_test(places_of_a_limit_before),    cmocka_unit_test(several_shards_of_one_account),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
