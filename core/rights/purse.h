// What one thread has taken out of accounts before it comes, so that most messages cost no step that other threads see: units
// of a user's rates, and places among what it has pending. It is of one turn, at whose end what wasn't needed is given back:
// before anybody sees what came of the turn. Pure: the time is given, the same all through a turn.
//
// What a thread is told is what the account itself would say of all that came through it. Where others ask the same account
// meanwhile, what lies here is owed for them; so nothing is taken ahead near a limit, nor for a user's first message of a turn.
#pragma once

#include <stdalign.h>

#include "core/rights/account.h"

enum { PURSES_COUNT = 8, PURSE_WORTH_PARTS = 16, PURSE_MESSAGES_MAX = 1024, PURSE_PLACES = 32 };
#define PURSE_BYTES_MAX (UINT64_C(1) << 20)

struct purse {
    alignas(ACCOUNT_BYTES) struct account *account; // NULL: it is nobody's
    const struct account_limits *limits;            // by which it was filled; NULL: it has had no message
    uint64_t bytes, bytes_taken;                    // of them, how many are left
    uint32_t messages, messages_taken;
    // That the account counts as pending, and aren't: those of which all may be taken, by these limits, and those that were
    // pending until now, of which one may be taken where the account isn't over its limit.
    const struct account_limits *asked;
    uint32_t places, answered;
};

// Zero bytes are no purse at all.
struct purses {
    struct purse list[PURSES_COUNT];
    uint32_t open; // bits: those that are somebody's
};

// Accounts of which several have one get less of it, each for a shorter time.
static inline struct purse *purse_of(struct purses *purses, const struct account *account) {
    return &purses->list[account->number % PURSES_COUNT];
}

// Takes a message out of what there is, whether it could be refused or not. False: there isn't enough, and the account is to be
// asked, by the functions below. `limits` are its own, and lie elsewhere when they have changed.
static inline bool purse_pays(struct purses *purses, const struct account *account,
                              const struct account_limits *limits, uint64_t bytes) {
    struct purse *purse = purse_of(purses, account);
    if (purse->limits != limits || purse->messages == 0 || purse->bytes < bytes)
        return false;
    purse->messages--;
    purse->bytes -= bytes;
    return true;
}
// account_message and account_charge, with what lies here given back before.
uint64_t purse_message(struct purses *purses, struct account *account, const struct account_limits *limits,
                       uint64_t now_ns, uint64_t bytes, enum account_limit *over);
void purse_charge(struct purses *purses, struct account *account, const struct account_limits *limits,
                  uint64_t now_ns, uint64_t bytes);

// account_ask and account_answer. What is pending in truth is what the account counts without the places here, and without what was answered.
bool purse_ask_anew(struct purses *purses, struct account *account, const struct account_limits *limits);
static inline bool purse_ask(struct purses *purses, struct account *account,
                             const struct account_limits *limits) {
    struct purse *purse = purse_of(purses, account);
    if (purse->asked != limits || purse->places == 0)
        return purse_ask_anew(purses, account, limits);
    purse->places--;
    return true;
}
void purse_answer_anew(struct purses *purses, struct account *account);
static inline void purse_answer(struct purses *purses, struct account *account) {
    struct purse *purse = purse_of(purses, account);
    if (purse->account == account)
        purse->answered++;
    else
        purse_answer_anew(purses, account);
}

// Gives all back. Accounts must be there until then.
void purses_empty_anew(struct purses *purses);
static inline void purses_empty(struct purses *purses) {
    if (purses->open)
        purses_empty_anew(purses);
}
