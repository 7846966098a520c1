// All children, on shard 0: what the configuration says, what the keeper reports, and how they end with the hub.
#pragma once

#include "io/io.h"
#include "io/keeper.h"
#include "router/features/children/child.h"

// The token of the feature's own with which the kernel reports on the keeper (FEATURE_TOKEN).
enum { CHILDREN_TOKEN_KEEPER };

struct children {
    struct child *first;
    struct child_absence *absences; // child_absence.h
    struct list due;                // struct child.due: those that may have something to do
    const struct child_ops *ops;
    bool lacks_place; // for one that the configuration asks for
    bool listening;   // to the keeper
    bool cancelling;  // that
    bool closing;
    struct keeper_report report; // so far as it has come
    uint32_t report_bytes;
};

// The shard's; NULL: it isn't shard 0, or there is no keeper.
static inline struct children *children_of(const struct shard *shard) {
    return shard->states[FEATURE_CHILDREN];
}

// Begins to keep those that the configuration names, where there is a keeper. False when memory is used up.
bool children_open(struct shard *shard, const struct child_ops *ops);
// The instance of a user of its own, which isn't there yet: NULL where there may be no more, or memory is used up.
struct child *children_add_instance(struct shard *shard, struct child *stand_in, uint64_t user);
// The instance of a server of MCP that speaks the modern era, which isn't there yet: likewise.
struct child *children_add_modern(struct shard *shard, struct child *first);
// Adds children that the configuration asks for, and that aren't there: a child of that name may just have
// gone.
void children_add_missing(struct shard *shard);
