// The quota: memory that peers make the hub keep beyond messages, for registrations, capabilities,
// subscriptions and pending requests. All of the quota together is a quarter of the hub's memory at most, so
// that it can't crowd messages out. The quota counts in the whole (buffer.h), so that both together stay
// within the bound.
//
// Each shard has an account of its own and draws on the hub's in grants, so that the cache line that all
// share is seldom touched. Units of one account may be given back on another one: only the sum counts.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum {
    QUOTA_GRANT_BYTES = 16 * 1024,
    // One peer's share is bounded by what is left for all others, but never to less than this.
    QUOTA_SHARE_BYTES_MIN = 64 * 1024,
    // The last quarter of it is for peers that have no more than a little: so much, for each shard that keeps it.
    QUOTA_LITTLE_BYTES = 4 * 1024,
    QUOTA_LITTLE_BYTES_MIN = 2 * QUOTA_LITTLE_BYTES,
};

struct quota {
    struct buffer_budget *budget;
    bool beside;           // it counts in the whole alone, and refuses nothing
    uint64_t little_bytes; // what a peer may have of the last quarter of it
    int64_t granted;       // of the budget's bytes, this account's
    int64_t used;          // of those; never more. Below 0 where more was given back than taken
    uint64_t refused;      // how often the bound, not the allocator, had no room
};

void quota_init(struct quota *quota, struct buffer_budget *budget);
// Makes an account of what connections take that another bound holds, their number: it stands beside the quarter.
void quota_init_beside(struct quota *quota, struct buffer_budget *budget);
// Hands its grants back, and with those of all accounts all that was taken, if all of it was given back.
void quota_deinit(struct quota *quota);

// Take memory as core/base/memory.h does; NULL also where the bound leaves no room.
__attribute__((malloc, warn_unused_result)) void *quota_take(struct quota *quota, size_t bytes);
__attribute__((malloc, warn_unused_result)) void *quota_take_zeroed(struct quota *quota, size_t count,
                                                                    size_t bytes);
__attribute__((malloc, warn_unused_result)) void *quota_take_aligned(struct quota *quota, size_t alignment,
                                                                     size_t bytes);
__attribute__((warn_unused_result)) void *quota_resize(struct quota *quota, void *memory, size_t bytes);
// Takes memory that the bound does not refuse: little, and given back at once unless something else is kept for it.
__attribute__((malloc, warn_unused_result)) void *quota_take_anyway(struct quota *quota, size_t bytes);
// NULL is allowed.
void quota_give(struct quota *quota, void *memory);
// Hands back what it was granted and doesn't use.
void quota_settle(struct quota *quota);

// Takes room out of the bound for what other accounts will take, which each of them then accepts a part of.
// False where there is none; then nothing was set aside.
bool quota_set_aside(struct quota *quota, uint64_t bytes);
void quota_accept(struct quota *quota, uint64_t bytes);

// How much may be kept in all, now.
uint64_t quota_bytes_max(const struct quota *quota);
// How much of that no account has been granted.
uint64_t quota_bytes_left(const struct quota *quota);
// Whether one peer may have the hub keep so much: no more than is left for all others. A peer that takes all
// it can get leaves as much again, and many such peers still leave something to later ones (Choudhury and
// Hahne, 1998: dynamic thresholds). The last quarter of the bound is left to peers that want little.
static inline bool quota_is_fair(const struct quota *quota, uint64_t bytes) {
    uint64_t left = quota_bytes_left(quota), reserve = quota_bytes_max(quota) / 4;
    return bytes <= quota->little_bytes ||
           (left > reserve && (bytes <= QUOTA_SHARE_BYTES_MIN || bytes <= left - reserve));
}

// --- Shares

// The bytes that the hub keeps for each holder, over all its connections, so that no holder takes more than half of the
// quota (quota.h). A holder is a user; without users an address, or a user of the machine.
//
// The table has one size for any number of holders. A holder is a hash under a secret key. A holder's bytes are counted
// at two places, and the lesser count is told (Cormode and Muthukrishnan, 2005: a count-min sketch). The told count is
// never less than the true one. The told count is more where other holders share both places. No holder can bring that
// about, since the hash is secret. Any thread may count.

enum { QUOTA_SHARES_ROWS = 2, QUOTA_SHARES_BITS = 12, QUOTA_SHARES_PLACES = 1 << QUOTA_SHARES_BITS };

// Zero bytes are a table in which nobody has anything.
struct quota_shares {
    _Atomic uint64_t bytes[QUOTA_SHARES_ROWS][QUOTA_SHARES_PLACES];
};

// Counts so many bytes more. False, and nothing was counted, where the holder would have more than `max`. Others'
// attempts at the same time may make it false a little sooner.
bool quota_shares_take(struct quota_shares *shares, uint64_t holder, uint64_t bytes, uint64_t max);
// Counts bytes off that were counted for this holder.
void quota_shares_give(struct quota_shares *shares, uint64_t holder, uint64_t bytes);
