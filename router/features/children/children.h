// Keeps all children, on shard 0: follows the configuration, takes the keeper's reports, and ends the children with the
// hub.
#pragma once

#include "io/io.h"
#include "io/keeper.h"
#include "router/features/children/child.h"

// The feature's token of io for the keeper's reports (FEATURE_TOKEN).
enum { CHILDREN_TOKEN_KEEPER };

struct children {
    struct child *first;
    struct child_absence *absences; // child_absence.h
    struct list due;                // struct child.due, of children that may have work to do
    const struct child_ops *ops;
    bool lacks_place; // there was no place for a child of the configuration
    bool listening;   // the keeper's reports are being received
    bool cancelling;  // the receiving is being cancelled
    bool closing;
    struct keeper_report report; // the report that is coming in
    uint32_t report_bytes;       // bytes of `report` that have come
};

// Returns the shard's children; NULL: the shard isn't shard 0, or there is no keeper.
static inline struct children *children_of(const struct shard *shard) {
    return shard->states[FEATURE_CHILDREN];
}

// Begins to keep the children of the configuration, if there is a keeper. Returns false without memory.
bool children_open(struct shard *shard, const struct child_ops *ops);
// Makes the instance of a user who has none. Returns NULL without memory, or if there may be no more instances.
struct child *children_add_instance(struct shard *shard, struct child *stand_in, uint64_t user);
// Makes the child of the modern era of an MCP server that has none. Returns NULL without memory, or if the server is
// being removed.
struct child *children_add_modern(struct shard *shard, struct child *first);
// Adds children of the configuration that aren't there. An earlier child of the name may just have gone.
void children_add_missing(struct shard *shard);
