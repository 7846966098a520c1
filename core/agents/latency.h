// The latency of an agent in the last one to two minutes: a histogram a minute and shard.
//
// All shards share one struct latency for an agent. Each shard writes to its own row, which the first request to the
// agent makes, and any shard may read all rows. So recording takes no lock. A reader sees each count before or after a
// write.
//
// The bounds of a bucket differ by at most a half, so a quantile is known within a fifth.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/quota.h"

enum { LATENCY_BUCKETS = 64 }; // from 1 us to 71 minutes, two an octave

struct latency_window {
    _Atomic uint32_t minute; // the minute of the window, from 1 on; 0: none
    _Atomic uint32_t errors;
    _Atomic uint32_t buckets[LATENCY_BUCKETS];
};

struct latency_row {
    struct latency *latency;
    uint32_t requests; // requests of the row's shard that hold the row
    bool is_left;      // the shard has no such agent any more: the last request drops the reference
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

// Makes a latency with one reference. Returns NULL without memory or quota.
struct latency *latency_create(struct quota *quota, uint32_t shards);
// Takes one more reference, on the thread of any shard that has one.
struct latency *latency_hold(struct latency *latency);
// Drops a reference; the last one frees the memory, on its owner's account. NULL is allowed.
void latency_drop(struct quota *quota, struct latency *latency);
// Drops the reference of a shard whose row requests may still hold. NULL is allowed.
void latency_leave(struct quota *quota, struct latency *latency, uint32_t shard);

// Returns the shard's row and holds it for a request; NULL without memory, or if there is no latency.
struct latency_row *latency_begin(struct quota *quota, struct latency *latency, uint32_t shard);
// Records that a request was answered after `us` microseconds. `minute` is the clock's, from 1 on, and never goes back.
void latency_record(struct latency_row *row, uint32_t minute, uint64_t us, bool is_error);
// Ends the hold of a request. NULL is allowed.
void latency_end(struct quota *quota, struct latency_row *row);

// Adds the counts of all rows, of this minute and the minute before.
void latency_read(const struct latency *latency, uint32_t minute, struct latency_view *view);
// Returns the microseconds that `share` of the answers don't exceed, within a fifth. There must be at least one answer.
double latency_quantile(const struct latency_view *view, double share);
