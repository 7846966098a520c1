#include "core/rights/account_lease.h"

#include <assert.h>
#include <stddef.h>

// --- Rates

static void give_units(struct account_lease *account_lease) {
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

// Takes a small part of a second's worth. The account doesn't count units without a limit.
static void take_units(struct account_lease *account_lease, uint64_t now_ns) {
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

// --- Whose it is

static void empty(struct account_lease *account_lease) {
    assert(account_lease->account);
    if (account_lease->limits)
        give_units(account_lease);
    if (account_lease->places + account_lease->answered)
        account_answer_several(account_lease->account, account_lease->places + account_lease->answered);
    *account_lease = (struct account_lease){0};
}

// True: it was this account's before.
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

// Makes it one of these limits, of which nothing is taken. True: it was so before.
static bool open_by(struct account_leases *account_leases, struct account_lease *account_lease,
                    struct account *account, const struct account_limits *limits) {
    assert(limits);
    bool again = open_for(account_leases, account_lease, account) && account_lease->limits == limits;
    if (account_lease->limits)
        give_units(account_lease);
    account_lease->limits = limits;
    return again;
}

void account_leases_empty_anew(struct account_leases *account_leases) {
    assert(account_leases->open);
    static_assert((int)ACCOUNT_LEASES_COUNT <= 32, "a bit each");
    for (; account_leases->open; account_leases->open &= account_leases->open - 1)
        empty(&account_leases->list[__builtin_ctz(account_leases->open)]);
}

// --- What comes

uint64_t account_lease_message(struct account_leases *account_leases, struct account *account,
                               const struct account_limits *limits, uint64_t now_ns, uint64_t bytes,
                               enum account_limit *over) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    bool again = open_by(account_leases, account_lease, account, limits);
    uint64_t wait_ms = account_message(account, limits, now_ns, bytes, over);
    if (again && !wait_ms)
        take_units(account_lease, now_ns);
    return wait_ms;
}

void account_lease_charge(struct account_leases *account_leases, struct account *account,
                          const struct account_limits *limits, uint64_t now_ns, uint64_t bytes) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    assert(limits->rate || limits->bytes);
    bool again = open_by(account_leases, account_lease, account, limits);
    account_charge(account, limits, now_ns, bytes);
    if (again)
        take_units(account_lease, now_ns);
}

// --- What is pending

// Takes a place of what was answered. Where the account isn't over its limit, as one may be after that has changed, all of
// them may be taken: others see them as pending until then.
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

bool account_lease_ask_anew(struct account_leases *account_leases, struct account *account,
                            const struct account_limits *limits) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    bool again = open_for(account_leases, account_lease, account);
    if (account_lease->asked != limits) {
        account_lease->answered += account_lease->places;
        account_lease->places = 0;
        account_lease->asked = limits;
    }
    uint32_t max = limits->pending;
    if (account_lease->answered > 0)
        return take_answered(account_lease, max);
    if (!account_ask(account, max))
        return false;
    uint32_t places =
        max ? (uint32_t)least(max / ACCOUNT_LEASE_WORTH_PARTS, ACCOUNT_LEASE_PLACES) : ACCOUNT_LEASE_PLACES;
    if (again && places && account_ask_ahead(account, max, places))
        account_lease->places = places;
    return true;
}

void account_lease_answer_anew(struct account_leases *account_leases, struct account *account) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    assert(account_lease->account != account);
    open_for(account_leases, account_lease, account);
    account_lease->answered++;
}
