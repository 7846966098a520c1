// A user's usage of its limits: one account a user, which all shards share without a lock. Pure: the time is
// given, in nanoseconds of any clock that never goes back.
//
// A rate is a debt that is paid off as time goes by. A second's worth may come at once, and a larger message
// passes when nothing is owed (GCRA, ITU-T I.371). Rates and bounds come with each question, as a reload may
// change them. Debts stay. 0 is no limit.
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ACCOUNT_RATE_MAX = 1000000000, ACCOUNT_JOURNAL_LINES = 10, ACCOUNT_BYTES = 64 }; // a cache line

struct account {
    _Atomic uint32_t references;
    _Atomic uint32_t connections, pending, held;
    _Atomic uint64_t held_bytes;
    _Atomic uint64_t rate_paid_ns, bytes_paid_ns, fanout_paid_ns; // when nothing will be owed any more
    _Atomic uint64_t refusals;                                    // the second, and how many there were in it
    uint32_t number; // constant: to tell one from others, not from all
};

// Which limit of a user's is in the way.
enum account_limit { LIMIT_RATE, LIMIT_BYTES, LIMIT_FANOUT, LIMIT_CONNECTIONS, LIMIT_PENDING, LIMITS_COUNT };

struct account_limits {
    uint64_t rate;   // messages a second
    uint64_t bytes;  // of their bodies, a second
    uint64_t fanout; // deliveries of events, a second
    uint32_t connections, pending;
};

// The key of the users file, static; and what stands there.
const char *account_limit_text(enum account_limit which);
uint64_t account_limit_of(const struct account_limits *limits, enum account_limit which);

// An empty account with one reference; NULL when memory is used up.
struct account *account_create(uint32_t number);
void account_hold(struct account *account);
// Gives it back with the last reference. NULL is allowed.
void account_drop(struct account *account);

// Takes a message of `bytes` out of the rates of messages and of bytes. Returns 0 if the message may pass. Else nothing
// was taken, and the result is the number of milliseconds until the message would pass if nothing else comes. *over is the
// rate that is exceeded.
uint64_t account_message(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                         uint64_t bytes, enum account_limit *over);
// Counts a message that is never refused: it leaves no more owed than a second's worth.
void account_charge(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                    uint64_t bytes);
// Takes an event's deliveries out of `fanout`, likewise.
uint64_t account_fanout(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                        uint64_t deliveries);

// Settles deliveries: `foreseen` were taken, and `made` were made. A surplus is owed, a rest is given back.
void account_fanout_made(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                         uint64_t counted, uint64_t made);

// Takes so many messages and bytes out of `rate` and `bytes` before they come. False, and nothing was taken,
// if more than half a second's worth of either would be owed then.
bool account_take_ahead(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                        uint64_t messages, uint64_t bytes);
// Units that were taken ahead at `limits`, and how many of them came.
struct account_advance {
    uint64_t messages, bytes;
    uint64_t messages_come, bytes_come;
};
// Then that alone is owed, of the messages what each for itself would have owed.
void account_give_back(struct account *account, const struct account_limits *limits,
                       const struct account_advance *advance);

// One more, unless that would be over the bound (0: there is none).
bool account_connect(struct account *account, uint32_t max);
void account_disconnect(struct account *account);
bool account_ask(struct account *account, uint32_t max);
void account_answer(struct account *account);
// Counts so many more before they come, unless those would be more than half of the bound.
bool account_ask_ahead(struct account *account, uint32_t max, uint32_t count);
// Takes so many off that were answered, or didn't come.
void account_answer_several(struct account *account, uint32_t count);
// Count messages that the gate holds, and their bytes.
bool account_detain(struct account *account, uint32_t max);
void account_release(struct account *account);
bool account_detain_bytes(struct account *account, uint64_t bytes, uint64_t max);
void account_release_bytes(struct account *account, uint64_t bytes);

// A refusal of this user's: whether it has a line of the journal of its own (ten a second have). Where an earlier
// second had more, *suppressed is how many, told once: they have one line together; else 0.
bool account_refuse(struct account *account, uint64_t now_ns, uint32_t *suppressed);
// Whether the user's latest refusal, if it was in this second, has such a line.
bool account_reports(const struct account *account, uint64_t now_ns);
// How many refusals of an earlier second are still to be told, likewise: for a timer, when no more come.
uint32_t account_suppressed(struct account *account, uint64_t now_ns);

// --- Leases
//
// Units that one thread has taken out of accounts ahead, so that most messages cost no step that other
// threads see: units of a user's rates, and places among its pending requests. A lease is of one turn. At the
// turn's end unused units are given back, before any other thread sees the turn's consequences. Pure: the
// time is given, the same all through a turn.
//
// A thread gets the account's own answers for all messages that came through that thread. Where other threads ask the
// same account meanwhile, they lack the units of a lease. Near a limit nothing is therefore taken ahead, nor for a user's
// first message of a turn.

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
    // Requests that the account counts as pending, and that aren't. `places`: all of these may be taken, by the limits
    // `asked`. `answered`: these requests were pending until now; one may be taken where the account isn't over its limit.
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
