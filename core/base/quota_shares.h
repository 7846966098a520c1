// What each user has the hub keep, over all its connections: so that nobody takes more than half of the quota
// (quota.h). Without users a holder is an address, or a user of the machine.
//
// Holders may be any number, and the table has one size. A holder is a hash under a secret key. Its bytes are counted
// at two places, and the lesser count is told (Cormode and Muthukrishnan, 2005: a count-min sketch). So what is told
// is never less than what the holder has. The count is more where others share both places, which no holder can bring
// about, as the hash is secret. Any thread may count.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

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
