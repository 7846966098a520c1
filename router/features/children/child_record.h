// What all shards may know of a child, whether the child runs or not. Shard 0 writes records, and all shards read them.
// A record isn't freed while the hub runs. A child of the same name uses the record again. When all places are used up,
// a child of another name uses the record, once all shards know that the old child has gone. No shard reads the name of
// a record whose child isn't there.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/text.h"
#include "core/child/child_settings.h"
#include "router/engine/shard/hub.h"
#include "router/features/feature_list.h"

#define CHILD_STATES(X)                                                                                      \
    X(CHILD_IDLE, "idle")         /* the program is started when a message arrives */                        \
    X(CHILD_WAITING, "waiting")   /* the program is started again later */                                   \
    X(CHILD_STARTING, "starting") /* the keeper was asked to start the program */                            \
    X(CHILD_GREETING, "starting") /* the program was asked to initialize */                                  \
    X(CHILD_RUNNING, "running")                                                                              \
    X(CHILD_STOPPING, "stopping") /* the program was asked to end, or its input closed */                    \
    X(CHILD_ENDING, "ending")     /* the hub doesn't listen to the program any more */                       \
    X(CHILD_DOWN, "down")         /* the program isn't started again */                                      \
    X(CHILD_STOPPED, "stopped")   /* by an operator */                                                       \
    X(CHILD_REMOVED, "removed")

enum child_state {
#define X(state, text) state,
    CHILD_STATES(X)
#undef X
        CHILD_STATES_COUNT
};

// Why a child's process ended last.
#define CHILD_FAULTS(X)                                                                                      \
    X(CHILD_FAULT_NONE, "")                                                                                  \
    X(CHILD_FAULT_START, "it could not be started:")                                                         \
    X(CHILD_FAULT_STATUS, "it ended with status")                                                            \
    X(CHILD_FAULT_SIGNAL, "it was ended by signal")                                                          \
    X(CHILD_FAULT_OUTPUT, "it closed its standard output")                                                   \
    X(CHILD_FAULT_INPUT, "it closed its standard input")                                                     \
    X(CHILD_FAULT_FRAME, "its standard output could not be read")                                            \
    X(CHILD_FAULT_GREETING, "it did not answer initialize in time")                                          \
    X(CHILD_FAULT_REFUSED, "it answered initialize with an error")                                           \
    X(CHILD_FAULT_OFFER, "it offers what can't be offered")                                                  \
    X(CHILD_FAULT_SLOW, "it did not take what was sent to it")                                               \
    X(CHILD_FAULT_MEMORY, "memory was used up")

enum child_fault {
#define X(fault, text) fault,
    CHILD_FAULTS(X)
#undef X
        CHILD_FAULTS_COUNT
};

struct child_record {
    char name[AGENT_ID_BYTES_MAX + 1];
    uint32_t place;     // among the keeper's places; constant
    uint32_t leaving;   // on shard 0: ends of children that not all shards know yet
    uint64_t log_since; // where the child's log begins in the place's; constant while it is there
    _Atomic uint32_t protocol, state, restarts, failures;
    _Atomic uint32_t each;         // not 0: each user has an instance of its own
    _Atomic uint32_t acp;          // not 0: cancels go to the child as by the Agent Client Protocol
    _Atomic uint32_t instances;    // with `each`: how many instances there are
    _Atomic uint32_t era;          // enum mcp_era; MCP_ERAS_COUNT: none, or not known yet
    _Atomic uint32_t list_changes; // how often an MCP server has said that a list has changed
    // Of an MCP server: clients of this process at the last survey (feature.survey), and sessions over HTTP.
    _Atomic uint32_t clients, web_sessions;
    _Atomic int32_t process; // the process id; 0: none
    _Atomic uint64_t fault;  // enum child_fault << 32 and its number
    _Atomic uint32_t orders; // CHILD_ORDER_ bits that aren't carried out yet
};

enum { CHILD_ORDER_RESTART = 1, CHILD_ORDER_STOP = 2 };

// The feature's state in the hub.
struct child_records {
    struct child_record all[CHILDREN_MAX]; // all records ever made: shard 0 adds, all shards read
    _Atomic uint32_t count;
    _Atomic bool has_orders; // some record has orders
};

// Returns the records; NULL: the hub has no children.
static inline struct child_records *child_records_of(const struct hub *hub) {
    return hub->states[FEATURE_CHILDREN];
}
// Returns how many records there are.
static inline uint32_t child_record_count(const struct hub *hub) {
    const struct child_records *records = child_records_of(hub);
    return records ? atomic_load_explicit(&records->count, memory_order_acquire) : 0;
}
// Returns a record by its index, which must be less than the count.
static inline struct child_record *child_record_at(const struct hub *hub, uint32_t index) {
    assert(index < child_record_count(hub));
    return &child_records_of(hub)->all[index];
}

// Returns the record of this name if its child is there; else NULL.
struct child_record *child_record_find(const struct hub *hub, const char *name, size_t bytes);
// Returns the record of this name, and makes it if there is none. For shard 0 alone. Returns NULL if all places are
// used up.
struct child_record *child_record_take(struct hub *hub, const char *name);
// Returns whether there is a place for a child of another name.
bool child_record_has_place(const struct hub *hub);
// Returns the record of the child of the modern era of an MCP server; NULL: there is none.
const struct child_record *child_record_modern(const struct hub *hub, const struct child_record *record);
// Returns whether the child is an MCP server.
bool child_record_is_mcp(const struct child_record *record);
// Returns whether each user of the child has an instance of its own.
bool child_record_is_each(const struct child_record *record);
// Returns whether the hub's own cancels go to the child as $/cancel_request.
bool child_record_cancels_acp(const struct child_record *record);
// Returns whether the child is there.
bool child_record_is_there(const struct child_record *record);
// Writes what the record tells as members of a JSON object, without braces.
void child_record_put(struct text *out, const struct hub *hub, const struct child_record *record);
