// Units that one thread has taken out of accounts ahead, so that most messages cost no step that other
// threads see: units of a user's rates, and places among its pending requests. A lease is of one turn. At the
// turn's end unused units are given back, before any other thread sees the turn's consequences. Pure: the
// time is given, the same all through a turn.
//
// The answers to a thread are those of the account itself, for all messages that came through that thread.
// Where others ask the same account meanwhile, the units of a lease are owed for them. So nothing is taken
// ahead near a limit, nor for a user's first message of a turn.
#pragma once

#include <stdalign.h>

#include "core/rights/account.h"

enum {
    ACCOUNT_LEASES_COUNT = 8,
    ACCOUNT_LEASE_WORTH_PARTS = 16,
    ACCOUNT_LEASE_MESSAGES_MAX = 1024,
    ACCOUNT_LEASE_PLACES = 32
};
#define ACCOUNT_LEASE_BYTES_MAX (UINT64_C(1) << 20)

struct account_lease {
    alignas(ACCOUNT_BYTES) struct account *account; // NULL: it is nobody's
    const struct account_limits *limits;            // by which it was filled; NULL: it has had no message
    uint64_t bytes, bytes_taken;                    // of them, how many are left
    uint32_t messages, messages_taken;
    // Requests that the account counts as pending, and that aren't. All of `places` may be taken, by these
    // limits. Those `answered` were pending until now, and one may be taken where the account isn't over its
    // limit.
    const struct account_limits *asked;
    uint32_t places, answered;
};

// Zero bytes are no leases at all.
struct account_leases {
    struct account_lease list[ACCOUNT_LEASES_COUNT];
    uint32_t open; // bits: those that are somebody's
};

// Accounts of which several have one get less of it, each for a shorter time.
static inline struct account_lease *account_lease_of(struct account_leases *account_leases,
                                                     const struct account *account) {
    return &account_leases->list[account->number % ACCOUNT_LEASES_COUNT];
}

// Takes a message out of what there is, whether it could be refused or not. False: there isn't enough, and the account is to be
// asked, by the functions below. `limits` are its own, and lie elsewhere when they have changed.
static inline bool account_lease_pays(struct account_leases *account_leases, const struct account *account,
                                      const struct account_limits *limits, uint64_t bytes) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    if (account_lease->limits != limits || account_lease->messages == 0 || account_lease->bytes < bytes)
        return false;
    account_lease->messages--;
    account_lease->bytes -= bytes;
    return true;
}
// account_message and account_charge, with what lies here given back before.
uint64_t account_lease_message(struct account_leases *account_leases, struct account *account,
                               const struct account_limits *limits, uint64_t now_ns, uint64_t bytes,
                               enum account_limit *over);
void account_lease_charge(struct account_leases *account_leases, struct account *account,
                          const struct account_limits *limits, uint64_t now_ns, uint64_t bytes);

// account_ask and account_answer. The requests that are truly pending are those that the account counts,
// without the places here and without those that were answered.
bool account_lease_ask_anew(struct account_leases *account_leases, struct account *account,
                            const struct account_limits *limits);
static inline bool account_lease_ask(struct account_leases *account_leases, struct account *account,
                                     const struct account_limits *limits) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    if (account_lease->asked != limits || account_lease->places == 0)
        return account_lease_ask_anew(account_leases, account, limits);
    account_lease->places--;
    return true;
}
void account_lease_answer_anew(struct account_leases *account_leases, struct account *account);
static inline void account_lease_answer(struct account_leases *account_leases, struct account *account) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    if (account_lease->account == account)
        account_lease->answered++;
    else
        account_lease_answer_anew(account_leases, account);
}

// Gives all back. Accounts must be there until then.
void account_leases_empty_anew(struct account_leases *account_leases);
static inline void account_leases_empty(struct account_leases *account_leases) {
    if (account_leases->open)
        account_leases_empty_anew(account_leases);
}
