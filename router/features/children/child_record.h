// A child as all shards may know it, running or not: shard 0 writes, others read. A record is never given
// back while the hub runs. It is used again for a child of the same name. Where places are used up, it is
// used for one of any name, once all shards know that the child has gone: its name is read by nobody as long
// as the child isn't there.
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
    X(CHILD_IDLE, "idle")         /* it is started when something comes for it */                            \
    X(CHILD_WAITING, "waiting")   /* until it is started again */                                            \
    X(CHILD_STARTING, "starting") /* the keeper has been asked */                                            \
    X(CHILD_GREETING, "starting") /* it has been asked to initialize */                                      \
    X(CHILD_RUNNING, "running")                                                                              \
    X(CHILD_STOPPING, "stopping") /* it has been asked to end, or its input has */                           \
    X(CHILD_ENDING, "ending")     /* nobody listens to it any more */                                        \
    X(CHILD_DOWN, "down")         /* it isn't started again */                                               \
    X(CHILD_STOPPED, "stopped")   /* by hand */                                                              \
    X(CHILD_REMOVED, "removed")

enum child_state {
#define X(state, text) state,
    CHILD_STATES(X)
#undef X
        CHILD_STATES_COUNT
};

// Why it ended last.
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
    uint32_t place;     // of the keeper's; constant
    uint32_t leaving;   // shard 0's: children of it that have gone, as not all shards may know yet
    uint64_t log_since; // constant while it is there: what its place logged before isn't its own
    _Atomic uint32_t protocol, state, restarts, failures;
    _Atomic uint32_t each;      // whether each of its users has an instance of its own
    _Atomic uint32_t acp;       // whether it is told of cancels as the Agent Client Protocol does
    _Atomic uint32_t instances; // then: how many there are
    _Atomic uint32_t era;       // enum mcp_era; their count: none, or not known yet
    _Atomic uint32_t
        list_changes; // how often a server of MCP has said that one of its lists is another one now
    // Of a server of MCP, as last looked at (feature.survey): clients of this process, and sessions over HTTP.
    _Atomic uint32_t clients, web_sessions;
    _Atomic int32_t process; // 0: none
    _Atomic uint64_t fault;  // enum child_fault << 32 and its number
    _Atomic uint32_t orders; // by hand, not carried out yet: 1 restart, 2 stop
};

enum { CHILD_ORDER_RESTART = 1, CHILD_ORDER_STOP = 2 };

// The feature's state in the hub.
struct child_records {
    struct child_record all[CHILDREN_MAX]; // that ever were: shard 0 adds, all read
    _Atomic uint32_t count;
    _Atomic bool has_orders; // some record has
};

// NULL: the hub has no children.
static inline struct child_records *child_records_of(const struct hub *hub) {
    return hub->states[FEATURE_CHILDREN];
}
// How many there are.
static inline uint32_t child_record_count(const struct hub *hub) {
    const struct child_records *records = child_records_of(hub);
    return records ? atomic_load_explicit(&records->count, memory_order_acquire) : 0;
}
// By their number, less than that.
static inline struct child_record *child_record_at(const struct hub *hub, uint32_t index) {
    assert(index < child_record_count(hub));
    return &child_records_of(hub)->all[index];
}

// The record of this name, if its section is there; else NULL.
struct child_record *child_record_find(const struct hub *hub, const char *name, size_t bytes);
// Returns the record of this name, made where there is none. For shard 0 alone. NULL when places are used up.
struct child_record *child_record_take(struct hub *hub, const char *name);
// Whether there is a place for one of another name.
bool child_record_has_place(const struct hub *hub);
// Returns the record of another process of the same section, by which the child speaks the modern era of MCP;
// NULL: there is none.
const struct child_record *child_record_modern(const struct hub *hub, const struct child_record *record);
// Whether it is a server that clients share (MCP).
bool child_record_is_mcp(const struct child_record *record);
// Whether each of its users has an instance of its own.
bool child_record_is_each(const struct child_record *record);
// Whether what the hub cancels itself is said to it as $/cancel_request.
bool child_record_cancels_acp(const struct child_record *record);
// Whether its section is there.
bool child_record_is_there(const struct child_record *record);
// Puts what is known of it as members of a JSON object, without braces.
void child_record_put(struct text *out, const struct hub *hub, const struct child_record *record);
