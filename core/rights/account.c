#include "core/rights/account.h"

#include <assert.h>
#include <stddef.h>

#include "core/base/memory.h"

#define SECOND_NS UINT64_C(1000000000)
#define MS_NS     UINT64_C(1000000)

struct account *account_create(uint32_t number) {
    static_assert(sizeof(struct account) <= ACCOUNT_BYTES, "an account is one cache line");
    struct account *account = memory_take_aligned(ACCOUNT_BYTES, ACCOUNT_BYTES);
    if (!account)
        return NULL;
    atomic_init(&account->references, 1);
    account->number = number;
    return account;
}

void account_hold(struct account *account) {
    uint32_t before = atomic_fetch_add_explicit(&account->references, 1, memory_order_relaxed);
    assert(before > 0 && before < UINT32_MAX);
    (void)before;
}

void account_drop(struct account *account) {
    if (!account)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&account->references, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before == 1)
        memory_give(account);
}

// --- Limits

const char *account_limit_text(enum account_limit which) {
    static const char *const texts[LIMITS_COUNT] = {"rate", "bytes", "fanout", "connections", "pending"};
    assert(which < LIMITS_COUNT);
    return texts[which];
}

uint64_t account_limit_of(const struct account_limits *limits, enum account_limit which) {
    const uint64_t all[LIMITS_COUNT] = {limits->rate, limits->bytes, limits->fanout, limits->connections,
                                        limits->pending};
    assert(which < LIMITS_COUNT);
    return all[which];
}

// --- Rates

static uint64_t later(uint64_t one, uint64_t other) {
    return one > other ? one : other;
}

// Returns how long `units` take at that rate in ns, rounded down, so that a second's worth always fits a second.
static uint64_t worth_ns(uint64_t units, uint64_t rate) {
    assert(rate > 0);
    if (units <= UINT64_MAX / 4 / SECOND_NS)
        return units * SECOND_NS / rate;
    unsigned __int128 ns = (unsigned __int128)units * SECOND_NS / rate;
    return ns > UINT64_MAX / 4 ? UINT64_MAX / 4 : (uint64_t)ns;
}

// Charges `units`. Returns 0, or the ns until the units may pass.
static uint64_t take_units(_Atomic uint64_t *paid, uint64_t rate, uint64_t now_ns, uint64_t units) {
    if (rate == 0 || units == 0)
        return 0;
    assert(now_ns < UINT64_MAX / 4);
    uint64_t cost = worth_ns(units, rate), room = cost < SECOND_NS ? SECOND_NS - cost : 0;
    uint64_t before = atomic_load_explicit(paid, memory_order_relaxed), from;
    do {
        from = later(before, now_ns);
        if (from - now_ns > room)
            return from - now_ns - room;
    } while (!atomic_compare_exchange_weak_explicit(paid, &before, from + cost, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 0;
}

static void give_ns(_Atomic uint64_t *paid, uint64_t worth) {
    uint64_t before = atomic_fetch_sub_explicit(paid, worth, memory_order_relaxed);
    assert(before >= worth);
    (void)before;
}

// Gives back units that were charged and not used. Other threads may have charged units since.
static void give_units(_Atomic uint64_t *paid, uint64_t rate, uint64_t units) {
    if (rate > 0)
        give_ns(paid, worth_ns(units, rate));
}

static bool take_units_ahead(_Atomic uint64_t *paid, uint64_t rate, uint64_t now_ns, uint64_t units) {
    if (rate == 0 || units == 0)
        return true;
    assert(now_ns < UINT64_MAX / 4);
    uint64_t cost = worth_ns(units, rate);
    uint64_t before = atomic_load_explicit(paid, memory_order_relaxed), from;
    do {
        from = later(before, now_ns);
        if (from - now_ns + cost > SECOND_NS / 2)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(paid, &before, from + cost, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void charge_units(_Atomic uint64_t *paid, uint64_t rate, uint64_t now_ns, uint64_t units) {
    if (rate == 0 || units == 0)
        return;
    uint64_t cost = worth_ns(units, rate);
    uint64_t before = atomic_load_explicit(paid, memory_order_relaxed), after;
    do {
        after = later(before, now_ns) + cost;
        if (after - now_ns > SECOND_NS)
            after = later(before, now_ns + SECOND_NS);
    } while (!atomic_compare_exchange_weak_explicit(paid, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
}

static uint64_t in_ms(uint64_t ns) {
    return (ns + MS_NS - 1) / MS_NS;
}

uint64_t account_message(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                         uint64_t bytes, enum account_limit *over) {
    uint64_t wait = take_units(&account->rate_paid_ns, limits->rate, now_ns, 1);
    assert(over);
    *over = LIMIT_RATE;
    if (wait == 0) {
        wait = take_units(&account->bytes_paid_ns, limits->bytes, now_ns, bytes);
        *over = LIMIT_BYTES;
        if (wait > 0)
            give_units(&account->rate_paid_ns, limits->rate, 1);
    }
    return in_ms(wait);
}

void account_charge(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                    uint64_t bytes) {
    charge_units(&account->rate_paid_ns, limits->rate, now_ns, 1);
    charge_units(&account->bytes_paid_ns, limits->bytes, now_ns, bytes);
}

bool account_take_ahead(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                        uint64_t messages, uint64_t bytes) {
    if (!take_units_ahead(&account->rate_paid_ns, limits->rate, now_ns, messages))
        return false;
    if (take_units_ahead(&account->bytes_paid_ns, limits->bytes, now_ns, bytes))
        return true;
    give_units(&account->rate_paid_ns, limits->rate, messages);
    return false;
}

void account_give_back(struct account *account, const struct account_limits *limits,
                       const struct account_advance *advance) {
    assert(advance->messages_come <= advance->messages && advance->bytes_come <= advance->bytes);
    if (limits->rate)
        give_ns(&account->rate_paid_ns, worth_ns(advance->messages, limits->rate) -
                                            advance->messages_come * worth_ns(1, limits->rate));
    if (limits->bytes)
        give_ns(&account->bytes_paid_ns,
                worth_ns(advance->bytes, limits->bytes) - worth_ns(advance->bytes_come, limits->bytes));
}

uint64_t account_fanout(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                        uint64_t deliveries) {
    return in_ms(take_units(&account->fanout_paid_ns, limits->fanout, now_ns, deliveries));
}

static void charge_fanout(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                          uint64_t deliveries) {
    uint64_t cost = worth_ns(deliveries, limits->fanout);
    uint64_t before = atomic_load_explicit(&account->fanout_paid_ns, memory_order_relaxed), after;
    do {
        after = later(before, now_ns) + cost;
    } while (!atomic_compare_exchange_weak_explicit(&account->fanout_paid_ns, &before, after,
                                                    memory_order_relaxed, memory_order_relaxed));
}

void account_fanout_made(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                         uint64_t counted, uint64_t made) {
    if (limits->fanout > 0 && made > counted)
        charge_fanout(account, limits, now_ns, made - counted);
    else if (made < counted)
        give_units(&account->fanout_paid_ns, limits->fanout, counted - made);
}

// --- Bounds

static bool count_up(_Atomic uint32_t *count, uint32_t max) {
    uint32_t before = atomic_load_explicit(count, memory_order_relaxed);
    do {
        if (before == UINT32_MAX || (max > 0 && before >= max))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(count, &before, before + 1, memory_order_relaxed,
                                                    memory_order_relaxed));
    return true;
}

static void count_down(_Atomic uint32_t *count) {
    uint32_t before = atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

bool account_connect(struct account *account, uint32_t max) {
    return count_up(&account->connections, max);
}

void account_disconnect(struct account *account) {
    count_down(&account->connections);
}

bool account_begin_pending(struct account *account, uint32_t max) {
    return count_up(&account->pending, max);
}

void account_end_pending(struct account *account) {
    count_down(&account->pending);
}

bool account_begin_pending_ahead(struct account *account, uint32_t max, uint32_t count) {
    assert(count > 0);
    uint32_t bound = max ? max / 2 : UINT32_MAX / 2;
    uint32_t before = atomic_load_explicit(&account->pending, memory_order_relaxed);
    do {
        if (count > bound || before > bound - count)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&account->pending, &before, before + count,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void account_end_pending_several(struct account *account, uint32_t count) {
    uint32_t before = atomic_fetch_sub_explicit(&account->pending, count, memory_order_relaxed);
    assert(before >= count);
    (void)before;
}

bool account_count_held(struct account *account, uint32_t max) {
    return count_up(&account->held, max);
}

void account_uncount_held(struct account *account) {
    count_down(&account->held);
}

bool account_count_held_bytes(struct account *account, uint64_t bytes, uint64_t max) {
    uint64_t before = atomic_load_explicit(&account->held_bytes, memory_order_relaxed);
    do {
        if (bytes > UINT64_MAX - before || (max > 0 && before + bytes > max))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&account->held_bytes, &before, before + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

void account_uncount_held_bytes(struct account *account, uint64_t bytes) {
    uint64_t before = atomic_fetch_sub_explicit(&account->held_bytes, bytes, memory_order_relaxed);
    assert(before >= bytes);
    (void)before;
}

// --- Refusals. The upper half of account.refusals is the second (modulo 2^32), the lower half the number of refusals
// in that second.

static uint32_t second_of(uint64_t refusals) {
    return (uint32_t)(refusals >> 32);
}

static uint32_t unreported(uint64_t refusals) {
    uint32_t count = (uint32_t)refusals;
    return count > ACCOUNT_JOURNAL_LINES ? count - ACCOUNT_JOURNAL_LINES : 0;
}

bool account_refuse(struct account *account, uint64_t now_ns, uint32_t *suppressed) {
    assert(suppressed);
    uint32_t second = (uint32_t)(now_ns / SECOND_NS);
    uint64_t before = atomic_load_explicit(&account->refusals, memory_order_relaxed), after;
    do {
        bool goes_on = second_of(before) == second && (uint32_t)before > 0;
        *suppressed = goes_on ? 0 : unreported(before);
        after = goes_on ? before + ((uint32_t)before < UINT32_MAX) : (uint64_t)second << 32 | 1;
    } while (!atomic_compare_exchange_weak_explicit(&account->refusals, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    return (uint32_t)after <= ACCOUNT_JOURNAL_LINES;
}

bool account_reports(const struct account *account, uint64_t now_ns) {
    uint64_t refusals = atomic_load_explicit(&account->refusals, memory_order_relaxed);
    return second_of(refusals) != (uint32_t)(now_ns / SECOND_NS) ||
           (uint32_t)refusals <= ACCOUNT_JOURNAL_LINES;
}

uint32_t account_suppressed(struct account *account, uint64_t now_ns) {
    uint32_t second = (uint32_t)(now_ns / SECOND_NS);
    uint64_t before = atomic_load_explicit(&account->refusals, memory_order_relaxed);
    while (second_of(before) != second && unreported(before) > 0)
        if (atomic_compare_exchange_weak_explicit(&account->refusals, &before, 0, memory_order_relaxed,
                                                  memory_order_relaxed))
            return unreported(before);
    return 0;
}

bool account_suppresses(const struct account *account) {
    return unreported(atomic_load_explicit(&account->refusals, memory_order_relaxed)) > 0;
}

// --- Leases

// --- Rates

static void lease_give_units(struct account_lease *account_lease) {
    struct account_advance advance = {
        .messages = account_lease->messages_taken,
        .bytes = account_lease->bytes_taken,
        .messages_come = account_lease->messages_taken - account_lease->messages,
        .bytes_come = account_lease->bytes_taken - account_lease->bytes,
    };
    assert(account_lease->messages <= account_lease->messages_taken &&
           account_lease->bytes <= account_lease->bytes_taken);
    if (account_lease->messages_taken)
        account_give_back(account_lease->account, account_lease->limits, &advance);
    account_lease->messages = account_lease->messages_taken = 0;
    account_lease->bytes = account_lease->bytes_taken = 0;
}

static uint64_t least(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

// Takes a small part of a second's worth. The account doesn't count units that have no limit.
static void lease_take_units(struct account_lease *account_lease, uint64_t now_ns) {
    const struct account_limits *limits = account_lease->limits;
    uint64_t messages = ACCOUNT_LEASE_MESSAGES_MAX, bytes = ACCOUNT_LEASE_BYTES_MAX;
    assert(!account_lease->messages_taken && !account_lease->bytes_taken);
    if (limits->rate)
        messages = least(messages, limits->rate / ACCOUNT_LEASE_WORTH_PARTS);
    if (limits->bytes)
        bytes = least(bytes, limits->bytes / ACCOUNT_LEASE_WORTH_PARTS);
    if (!messages || !account_take_ahead(account_lease->account, limits, now_ns, messages, bytes))
        return;
    account_lease->messages = account_lease->messages_taken = (uint32_t)messages;
    account_lease->bytes = account_lease->bytes_taken = bytes;
}

// --- The account of a lease

static void empty(struct account_lease *account_lease) {
    assert(account_lease->account);
    if (account_lease->limits)
        lease_give_units(account_lease);
    if (account_lease->places + account_lease->answered)
        account_end_pending_several(account_lease->account, account_lease->places + account_lease->answered);
    *account_lease = (struct account_lease){0};
}

// Gives the lease to this account. Returns whether the account had the lease before.
static bool open_for(struct account_leases *account_leases, struct account_lease *account_lease,
                     struct account *account) {
    assert(account);
    if (account_lease->account == account)
        return true;
    if (account_lease->account)
        empty(account_lease);
    account_lease->account = account;
    account_leases->open |= UINT32_C(1) << (account_lease - account_leases->list);
    return false;
}

// Gives the lease to this account and these limits, with no units. Returns whether account and limits were the same
// before.
static bool open_by(struct account_leases *account_leases, struct account_lease *account_lease,
                    struct account *account, const struct account_limits *limits) {
    assert(limits);
    bool again = open_for(account_leases, account_lease, account) && account_lease->limits == limits;
    if (account_lease->limits)
        lease_give_units(account_lease);
    account_lease->limits = limits;
    return again;
}

void account_leases_empty_slow(struct account_leases *account_leases) {
    assert(account_leases->open);
    static_assert((int)ACCOUNT_LEASES_COUNT <= 32, "a bit each");
    for (; account_leases->open; account_leases->open &= account_leases->open - 1)
        empty(&account_leases->list[__builtin_ctz(account_leases->open)]);
}

// --- Messages

uint64_t account_lease_message(struct account_leases *account_leases, struct account *account,
                               const struct account_limits *limits, uint64_t now_ns, uint64_t bytes,
                               enum account_limit *over) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    bool again = open_by(account_leases, account_lease, account, limits);
    uint64_t wait_ms = account_message(account, limits, now_ns, bytes, over);
    if (again && !wait_ms)
        lease_take_units(account_lease, now_ns);
    return wait_ms;
}

void account_lease_charge(struct account_leases *account_leases, struct account *account,
                          const struct account_limits *limits, uint64_t now_ns, uint64_t bytes) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    assert(limits->rate || limits->bytes);
    bool again = open_by(account_leases, account_lease, account, limits);
    account_charge(account, limits, now_ns, bytes);
    if (again)
        lease_take_units(account_lease, now_ns);
}

// --- Pending requests

// Takes the place of an answered request. Returns false at the limit. If the account isn't over its limit (a changed
// limit may be lower), all answered requests become places: other threads see these requests as pending until then.
static bool take_answered(struct account_lease *account_lease, uint32_t max) {
    uint32_t counted = atomic_load_explicit(&account_lease->account->pending, memory_order_relaxed);
    assert(account_lease->places == 0 && account_lease->answered > 0 && counted >= account_lease->answered);
    if (max > 0 && counted - account_lease->answered >= max)
        return false;
    account_lease->answered--;
    if (max == 0 || counted <= max) {
        account_lease->places = account_lease->answered;
        account_lease->answered = 0;
    }
    return true;
}

bool account_lease_begin_pending_slow(struct account_leases *account_leases, struct account *account,
                                      const struct account_limits *limits) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    bool again = open_for(account_leases, account_lease, account);
    if (account_lease->places_limits != limits) {
        account_lease->answered += account_lease->places;
        account_lease->places = 0;
        account_lease->places_limits = limits;
    }
    uint32_t max = limits->pending;
    if (account_lease->answered > 0)
        return take_answered(account_lease, max);
    if (!account_begin_pending(account, max))
        return false;
    uint32_t places =
        max ? (uint32_t)least(max / ACCOUNT_LEASE_WORTH_PARTS, ACCOUNT_LEASE_PLACES) : ACCOUNT_LEASE_PLACES;
    if (again && places && account_begin_pending_ahead(account, max, places))
        account_lease->places = places;
    return true;
}

void account_lease_end_pending_slow(struct account_leases *account_leases, struct account *account) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    assert(account_lease->account != account);
    open_for(account_leases, account_lease, account);
    account_lease->answered++;
}
