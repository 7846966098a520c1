// The quota: memory outside messages that peers make the hub use, for registrations, capabilities, subscriptions and
// pending requests. The quota is at most a quarter of the hub's memory, so that messages always have room. The budget
// counts the quota, too (buffer.h), so that both together stay within the bound.
//
// Each shard has an account of its own, which takes memory from the hub's budget in grants. So the cache line that all
// shards share is seldom touched. Units of one account may be given back on another account: only the sum counts.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buffer.h"

enum {
    QUOTA_GRANT_BYTES = 16 * 1024,
    // A peer may use as much as is left for all others, but always at least QUOTA_SHARE_BYTES_MIN.
    QUOTA_SHARE_BYTES_MIN = 64 * 1024,
    // Only peers that use little may use the last quarter of the quota: QUOTA_LITTLE_BYTES for each shard that uses
    // memory for the peer.
    QUOTA_LITTLE_BYTES = 4 * 1024,
    QUOTA_LITTLE_BYTES_MIN = 2 * QUOTA_LITTLE_BYTES,
};

struct quota {
    struct buffer_budget *budget;
    bool beside;           // the budget alone counts the account, not the quota; the account refuses nothing
    uint64_t little_bytes; // bytes up to which a peer may use the last quarter of the quota
    int64_t granted;       // bytes of the budget that the account has
    int64_t used;     // bytes of `granted` in use; never more. Below 0 if more was given back here than taken
    uint64_t refused; // how often the bound, not the allocator, refused memory
};

void quota_init(struct quota *quota, struct buffer_budget *budget);
// Makes an account of connections' memory, which the number of connections bounds: the account isn't part of the quota.
void quota_init_beside(struct quota *quota, struct buffer_budget *budget);
// Gives the account's grants back. After this for all accounts, the budget has all memory back if all of it was given
// back.
void quota_deinit(struct quota *quota);

// Take memory as core/base/memory.h does. Return NULL also if the bound leaves no room.
__attribute__((malloc, warn_unused_result)) void *quota_take(struct quota *quota, size_t bytes);
__attribute__((malloc, warn_unused_result)) void *quota_take_zeroed(struct quota *quota, size_t count,
                                                                    size_t bytes);
__attribute__((malloc, warn_unused_result)) void *quota_take_aligned(struct quota *quota, size_t alignment,
                                                                     size_t bytes);
__attribute__((warn_unused_result)) void *quota_resize(struct quota *quota, void *memory, size_t bytes);
// Takes memory even over the bound. For little memory, which the caller gives back at once unless other memory is in
// use with it.
__attribute__((malloc, warn_unused_result)) void *quota_take_anyway(struct quota *quota, size_t bytes);
// Gives memory back. NULL is allowed.
void quota_give(struct quota *quota, void *memory);
// Gives back the part of the grants that isn't in use.
void quota_settle(struct quota *quota);

// Reserves room within the bound for memory that other accounts will take. Each of these accounts must accept its part
// (quota_accept). Returns false if there is no room; then nothing is reserved.
bool quota_set_aside(struct quota *quota, uint64_t bytes);
void quota_accept(struct quota *quota, uint64_t bytes);

// Returns the bound of the quota in bytes.
uint64_t quota_bytes_max(const struct quota *quota);
// Returns how many bytes of the bound no account has been granted.
uint64_t quota_bytes_left(const struct quota *quota);
// Returns whether one peer may use so many bytes: at most as many as are left for all others. A peer that takes as much
// as possible leaves as much again, and many such peers still leave something to later ones (Choudhury and Hahne, 1998:
// dynamic thresholds). The last quarter of the bound is for peers that use little.
static inline bool quota_is_fair(const struct quota *quota, uint64_t bytes) {
    uint64_t left = quota_bytes_left(quota), reserve = quota_bytes_max(quota) / 4;
    return bytes <= quota->little_bytes ||
           (left > reserve && (bytes <= QUOTA_SHARE_BYTES_MIN || bytes <= left - reserve));
}

// --- Shares

// The bytes that each holder uses, over all its connections, so that no holder takes more than half of the quota
// (quota.h). A holder is a user; without a users file, an address or a user of the machine.
//
// The table has one size for any number of holders. A holder is a hash under a secret key. A holder's bytes are counted
// at two places, and the lesser count is used (Cormode and Muthukrishnan, 2005: a count-min sketch). That count is
// never less than the true one, and is more only if other holders share both places. No holder can bring that about,
// since the hash is secret. Any thread may count.

enum { QUOTA_SHARES_ROWS = 2, QUOTA_SHARES_BITS = 12, QUOTA_SHARES_PLACES = 1 << QUOTA_SHARES_BITS };

// All zero: no holder uses anything.
struct quota_shares {
    _Atomic uint64_t bytes[QUOTA_SHARES_ROWS][QUOTA_SHARES_PLACES];
};

// Adds bytes to a holder's count. Returns false, and adds nothing, if the count would be more than `max`. While another
// thread tries the same, the result may be false a little below `max`.
bool quota_shares_take(struct quota_shares *shares, uint64_t holder, uint64_t bytes, uint64_t max);
// Subtracts bytes that were counted for this holder.
void quota_shares_give(struct quota_shares *shares, uint64_t holder, uint64_t bytes);
