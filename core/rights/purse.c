#include "core/rights/purse.h"

#include <assert.h>
#include <stddef.h>

// --- Rates

static void give_units(struct purse *purse) {
    struct account_advance advance = {
        .messages = purse->messages_taken,
        .bytes = purse->bytes_taken,
        .messages_come = purse->messages_taken - purse->messages,
        .bytes_come = purse->bytes_taken - purse->bytes,
    };
    assert(purse->messages <= purse->messages_taken && purse->bytes <= purse->bytes_taken);
    if (purse->messages_taken)
        account_give_back(purse->account, purse->limits, &advance);
    purse->messages = purse->messages_taken = 0;
    purse->bytes = purse->bytes_taken = 0;
}

static uint64_t least(uint64_t one, uint64_t other) {
    return one < other ? one : other;
}

// A small part of a second's worth. What has no limit isn't counted by the account.
static void take_units(struct purse *purse, uint64_t now_ns) {
    const struct account_limits *limits = purse->limits;
    uint64_t messages = PURSE_MESSAGES_MAX, bytes = PURSE_BYTES_MAX;
    assert(!purse->messages_taken && !purse->bytes_taken);
    if (limits->rate)
        messages = least(messages, limits->rate / PURSE_WORTH_PARTS);
    if (limits->bytes)
        bytes = least(bytes, limits->bytes / PURSE_WORTH_PARTS);
    if (!messages || !account_take_ahead(purse->account, limits, now_ns, messages, bytes))
        return;
    purse->messages = purse->messages_taken = (uint32_t)messages;
    purse->bytes = purse->bytes_taken = bytes;
}

// --- Whose it is

static void empty(struct purse *purse) {
    assert(purse->account);
    if (purse->limits)
        give_units(purse);
    if (purse->places + purse->answered)
        account_answer_several(purse->account, purse->places + purse->answered);
    *purse = (struct purse){0};
}

// True: it was this account's before.
static bool open_for(struct purses *purses, struct purse *purse, struct account *account) {
    assert(account);
    if (purse->account == account)
        return true;
    if (purse->account)
        empty(purse);
    purse->account = account;
    purses->open |= UINT32_C(1) << (purse - purses->list);
    return false;
}

// Makes it one of these limits, of which nothing is taken. True: it was so before.
static bool open_by(struct purses *purses, struct purse *purse, struct account *account,
                    const struct account_limits *limits) {
    assert(limits);
    bool again = open_for(purses, purse, account) && purse->limits == limits;
    if (purse->limits)
        give_units(purse);
    purse->limits = limits;
    return again;
}

void purses_empty_anew(struct purses *purses) {
    assert(purses->open);
    static_assert((int)PURSES_COUNT <= 32, "a bit each");
    for (; purses->open; purses->open &= purses->open - 1)
        empty(&purses->list[__builtin_ctz(purses->open)]);
}

// --- What comes

uint64_t purse_message(struct purses *purses, struct account *account, const struct account_limits *limits,
                       uint64_t now_ns, uint64_t bytes, enum account_limit *over) {
    struct purse *purse = purse_of(purses, account);
    bool again = open_by(purses, purse, account, limits);
    uint64_t wait_ms = account_message(account, limits, now_ns, bytes, over);
    if (again && !wait_ms)
        take_units(purse, now_ns);
    return wait_ms;
}

void purse_charge(struct purses *purses, struct account *account, const struct account_limits *limits,
                  uint64_t now_ns, uint64_t bytes) {
    struct purse *purse = purse_of(purses, account);
    assert(limits->rate || limits->bytes);
    bool again = open_by(purses, purse, account, limits);
    account_charge(account, limits, now_ns, bytes);
    if (again)
        take_units(purse, now_ns);
}

// --- What is pending

// Takes a place of what was answered. Where the account isn't over its limit, as one may be after that has changed, all of
// them may be taken: others see them as pending until then.
static bool take_answered(struct purse *purse, uint32_t max) {
    uint32_t counted = atomic_load_explicit(&purse->account->pending, memory_order_relaxed);
    assert(purse->places == 0 && purse->answered > 0 && counted >= purse->answered);
    if (max > 0 && counted - purse->answered >= max)
        return false;
    purse->answered--;
    if (max == 0 || counted <= max) {
        purse->places = purse->answered;
        purse->answered = 0;
    }
    return true;
}

bool purse_ask_anew(struct purses *purses, struct account *account, const struct account_limits *limits) {
    struct purse *purse = purse_of(purses, account);
    bool again = open_for(purses, purse, account);
    if (purse->asked != limits) {
        purse->answered += purse->places;
        purse->places = 0;
        purse->asked = limits;
    }
    uint32_t max = limits->pending;
    if (purse->answered > 0)
        return take_answered(purse, max);
    if (!account_ask(account, max))
        return false;
    uint32_t places = max ? (uint32_t)least(max / PURSE_WORTH_PARTS, PURSE_PLACES) : PURSE_PLACES;
    if (again && places && account_ask_ahead(account, max, places))
        purse->places = places;
    return true;
}

void purse_answer_anew(struct purses *purses, struct account *account) {
    struct purse *purse = purse_of(purses, account);
    assert(purse->account != account);
    open_for(purses, purse, account);
    purse->answered++;
}
