// A user's usage of the user's limits: one account a user, which all shards share without a lock. Pure: the caller
// gives the time, in nanoseconds of any clock that never goes back.
//
// A rate is kept as a debt that is paid off as time goes by. A second's worth may come at once, and a larger message
// passes when nothing is owed (GCRA, ITU-T I.371). The caller gives the limits with each call, since a reload may
// change limits. Debts stay. 0 is no limit.
#pragma once

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    ACCOUNT_RATE_MAX = 1000000000,
    ACCOUNT_JOURNAL_LINES = 10,
    ACCOUNT_BYTES = 64 // a cache line
};

struct account {
    _Atomic uint32_t references;
    _Atomic uint32_t connections, pending, held;
    _Atomic uint64_t held_bytes;
    _Atomic uint64_t rate_paid_ns, bytes_paid_ns, fanout_paid_ns; // the times when each debt will be paid off
    _Atomic uint64_t refusals; // the second of the latest refusals, and their number
    uint32_t number;           // constant; may be equal in two accounts
};

// The limits of a user.
enum account_limit { LIMIT_RATE, LIMIT_BYTES, LIMIT_FANOUT, LIMIT_CONNECTIONS, LIMIT_PENDING, LIMITS_COUNT };

struct account_limits {
    uint64_t rate;   // messages a second
    uint64_t bytes;  // bytes of bodies a second
    uint64_t fanout; // deliveries of events, a second
    uint32_t connections, pending;
};

// Return the limit's key in the users file (static), and the limit's value.
const char *account_limit_text(enum account_limit which);
uint64_t account_limit_of(const struct account_limits *limits, enum account_limit which);

// Makes an empty account with one reference. Returns NULL without memory.
struct account *account_create(uint32_t number);
void account_hold(struct account *account);
// Drops a reference, and frees the account with the last reference. NULL is allowed.
void account_drop(struct account *account);

// Charges a message of `bytes` to the limits `rate` and `bytes`. Returns 0 if the message may pass. Else nothing was
// charged, *over is the limit in the way, and the result is the time to wait. That is the number of milliseconds until
// the message would pass if nothing else comes.
uint64_t account_message(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                         uint64_t bytes, enum account_limit *over);
// Charges a message that is never refused. The debt is then at most a second's worth, or what the debt was before.
void account_charge(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                    uint64_t bytes);
// Charges an event's deliveries to `fanout`. Returns 0, or the milliseconds until the event would pass, as
// account_message does.
uint64_t account_fanout(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                        uint64_t deliveries);

// Settles deliveries: account_fanout charged `counted`, and `made` were made. Charges a surplus, and gives a rest back.
void account_fanout_made(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                         uint64_t counted, uint64_t made);

// Charges messages and bytes before they come. Returns false if the debt of either would be more than half a second's
// worth; then nothing was charged.
bool account_take_ahead(struct account *account, const struct account_limits *limits, uint64_t now_ns,
                        uint64_t messages, uint64_t bytes);
// Units that were charged ahead, and how many of these came.
struct account_advance {
    uint64_t messages, bytes;
    uint64_t messages_come, bytes_come;
};
// Gives back the units that were charged ahead and didn't come. `limits` must be the limits of that charge. Each
// message that came is charged as if it had come alone.
void account_give_back(struct account *account, const struct account_limits *limits,
                       const struct account_advance *advance);

// Count a connection, or a pending request or session, up and down. Return false at the bound `max` (0: no bound).
bool account_connect(struct account *account, uint32_t max);
void account_disconnect(struct account *account);
bool account_begin_pending(struct account *account, uint32_t max);
void account_end_pending(struct account *account);
// Counts `count` pending requests before they come. Returns false if more than half of the bound would be pending.
bool account_begin_pending_ahead(struct account *account, uint32_t max, uint32_t count);
// Counts `count` pending requests down, which were answered or didn't come.
void account_end_pending_several(struct account *account, uint32_t count);
// Count held messages and their bytes up and down. Return false at the bound `max` (0: no bound).
bool account_count_held(struct account *account, uint32_t max);
void account_uncount_held(struct account *account);
bool account_count_held_bytes(struct account *account, uint64_t bytes, uint64_t max);
void account_uncount_held_bytes(struct account *account, uint64_t bytes);

// Counts a refusal of the user. Returns whether the refusal gets its own line in the journal: the first ten of each
// second do. Sets *suppressed to the number of an earlier second's refusals that got no line, once, for one line
// together; else to 0.
bool account_refuse(struct account *account, uint64_t now_ns, uint32_t *suppressed);
// Returns whether the user's latest refusal, if in this second, got its own line in the journal.
bool account_reports(const struct account *account, uint64_t now_ns);
// Returns the number of an earlier second's refusals that got no line, once; else 0. For a timer, when no more refusals
// come.
uint32_t account_suppressed(struct account *account, uint64_t now_ns);
// Returns whether there are refusals without a line that account_suppressed hasn't returned yet, also refusals of this
// second.
bool account_suppresses(const struct account *account);

// --- Leases
//
// Units that one thread has taken out of accounts ahead, so that most messages touch no memory that other threads read:
// units of a user's rates, and places among the user's pending requests. A lease ends with its turn. Unused units are
// given back at the end of the turn, before any other thread sees what the turn did. Pure: the caller gives the time,
// which is the same all through a turn.
//
// With leases a thread gets the same answers for its messages as from the account itself. Other threads that ask the
// same account meanwhile lack the lease's units. So nothing is taken ahead near a limit, or for a user's first message
// of a turn.

enum {
    ACCOUNT_LEASES_COUNT = 8,
    ACCOUNT_LEASE_WORTH_PARTS = 16,
    ACCOUNT_LEASE_MESSAGES_MAX = 1024,
    ACCOUNT_LEASE_PLACES = 32
};
#define ACCOUNT_LEASE_BYTES_MAX (UINT64_C(1) << 20)

struct account_lease {
    alignas(ACCOUNT_BYTES) struct account *account; // NULL: the lease is empty
    const struct account_limits *limits; // the limits of the leased units; NULL: no message came yet
    uint64_t bytes, bytes_taken;         // bytes that are left, and bytes that were taken
    uint32_t messages, messages_taken;
    // Requests that the account counts as pending and that are not pending. `places`: all of these may be taken, under
    // `places_limits`. `answered`: these requests were pending until now. One may be taken if the account isn't over
    // its limit.
    const struct account_limits *places_limits;
    uint32_t places, answered;
};

// All zero: all leases are empty.
struct account_leases {
    struct account_lease list[ACCOUNT_LEASES_COUNT];
    uint32_t open; // one bit for each lease that has an account
};

// Returns the lease that the account may use. Accounts with the same lease use it in turn, each for a shorter time.
static inline struct account_lease *account_lease_of(struct account_leases *account_leases,
                                                     const struct account *account) {
    return &account_leases->list[account->number % ACCOUNT_LEASES_COUNT];
}

// Charges a message to the lease. Returns false if too few units are left; the caller must then use
// account_lease_message or account_lease_charge. `limits` must be the account's, and must have another address after a
// change.
static inline bool account_lease_pays(struct account_leases *account_leases, const struct account *account,
                                      const struct account_limits *limits, uint64_t bytes) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    if (account_lease->limits != limits || account_lease->messages == 0 || account_lease->bytes < bytes)
        return false;
    account_lease->messages--;
    account_lease->bytes -= bytes;
    return true;
}
// Do as account_message and account_charge, after giving the lease's units back, and refill the lease.
uint64_t account_lease_message(struct account_leases *account_leases, struct account *account,
                               const struct account_limits *limits, uint64_t now_ns, uint64_t bytes,
                               enum account_limit *over);
void account_lease_charge(struct account_leases *account_leases, struct account *account,
                          const struct account_limits *limits, uint64_t now_ns, uint64_t bytes);

// Do as account_begin_pending and account_end_pending, by the lease. The requests that are really pending are those
// that the account counts, less `places` and `answered`.
bool account_lease_begin_pending_slow(struct account_leases *account_leases, struct account *account,
                                      const struct account_limits *limits);
static inline bool account_lease_begin_pending(struct account_leases *account_leases, struct account *account,
                                               const struct account_limits *limits) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    if (account_lease->places_limits != limits || account_lease->places == 0)
        return account_lease_begin_pending_slow(account_leases, account, limits);
    account_lease->places--;
    return true;
}
void account_lease_end_pending_slow(struct account_leases *account_leases, struct account *account);
static inline void account_lease_end_pending(struct account_leases *account_leases, struct account *account) {
    struct account_lease *account_lease = account_lease_of(account_leases, account);
    if (account_lease->account == account)
        account_lease->answered++;
    else
        account_lease_end_pending_slow(account_leases, account);
}

// Gives back all leased units and places. The accounts must exist until then.
void account_leases_empty_slow(struct account_leases *account_leases);
static inline void account_leases_empty(struct account_leases *account_leases) {
    if (account_leases->open)
        account_leases_empty_slow(account_leases);
}
