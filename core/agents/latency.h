// How long an agent took for what it answered in the last one to two minutes: a histogram a minute and shard.
//
// All shards share one struct latency for an agent, as they share its capabilities. Each shard writes a row of its own,
// which it takes with the first request to the agent, and any shard may read all rows. Recording therefore takes no lock. A
// reader sees a count as it was before a write, or after.
//
// A bucket's bounds differ by a half at most, and so a quantile is known within a fifth.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/quota.h"

enum { LATENCY_BUCKETS = 64 }; // from 1 us to 71 minutes, two an octave

struct latency_window {
    _Atomic uint32_t minute; // which it is of, from 1 on; 0: none
    _Atomic uint32_t errors;
    _Atomic uint32_t buckets[LATENCY_BUCKETS];
};

struct latency_row {
    struct latency *latency;
    uint32_t requests; // of the row's shard, that hold it
    bool is_left;      // the shard knows the agent no more: the last request gives its reference back
    struct latency_window windows[2];
};

struct latency {
    _Atomic uint32_t references;
    uint32_t shards;
    struct latency_row *_Atomic rows[];
};

struct latency_view {
    uint64_t count, errors;
    uint64_t buckets[LATENCY_BUCKETS];
};

// With one reference. NULL when memory, or the quota, is used up.
struct latency *latency_create(struct quota *quota, uint32_t shards);
// One more reference, on the thread of any shard that has one.
struct latency *latency_hold(struct latency *latency);
// Gives one up; the last one's owner gives the memory back, on its own account. NULL is allowed.
void latency_drop(struct quota *quota, struct latency *latency);
// A shard gives its reference up while requests may still hold its row. NULL is allowed.
void latency_leave(struct quota *quota, struct latency *latency, uint32_t shard);

// The shard's row, held for a request; NULL without memory, or where there is no latency.
struct latency_row *latency_begin(struct quota *quota, struct latency *latency, uint32_t shard);
// The request was answered, after so many microseconds. `minute` is the clock's, from 1 on, and never goes back.
void latency_record(struct latency_row *row, uint32_t minute, uint64_t us, bool is_error);
// The request has ended. NULL is allowed.
void latency_end(struct quota *quota, struct latency_row *row);

// Adds up the counts of all rows, of this minute and the one before.
void latency_read(const struct latency *latency, uint32_t minute, struct latency_view *view);
// Microseconds that `share` of all don't exceed, within a fifth. There is one at least.
double latency_quantile(const struct latency_view *view, double share);
