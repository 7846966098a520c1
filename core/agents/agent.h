// Agents and registrants: the types that the table of agents, the groups and the topics share. A registrant is a
// connection with agents.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents/latency.h"
#include "core/base/governance.h"
#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/json/json.h"

// --- Ids

// An agentId is used in logs, metrics and NATS subjects, so only characters that need no escape in any of them are
// allowed.

// Returns whether `text` is 1 to AGENT_ID_BYTES_MAX ASCII letters, digits, '-', '_', '.', ':' and '/', without an empty
// part between, before or after dots. Any bytes may be given; `text` may be NULL if `bytes` is 0.
bool agent_id_valid(const char *text, size_t bytes);

// --- Capabilities

// The capabilities of an agent as JSON. All shards share one copy, which is constant. Whoever drops the last reference
// frees the copy, on its own account (quota.h).

struct capabilities {
    _Atomic uint32_t references;
    uint32_t bytes;
    uint8_t text[]; // a JSON object or array, BUFFER_SLACK_BYTES readable behind it
};

// Makes capabilities with one reference. Returns NULL without memory or quota.
struct capabilities *capabilities_create(struct quota *quota, const void *text, size_t bytes);
// Takes one more reference, on the thread of any shard that has one.
struct capabilities *capabilities_hold(struct capabilities *capabilities);
// Drops a reference. NULL is allowed.
void capabilities_drop(struct quota *quota, struct capabilities *capabilities);

// Returns the span of the whole text.
static inline struct span capabilities_span(const struct capabilities *capabilities) {
    return (struct span){0, capabilities->bytes};
}

// Bits that tell the agents of one registrant apart. Only a name in an error's data depends on them.
enum { AGENT_TAG_BITS = 28 };

struct registrant {
    uint64_t connection;
    struct list agents;  // of struct agent.by_registrant
    struct list pending; // of struct pending.by_target: this shard's requests that the registrant must answer
    struct list streams; // HCS sessions of this shard whose producer the registrant is
    struct list link;    // in a hash chain of the table
    uint64_t quota_bytes; // of its agents
    uint64_t told;        // the last notification to many that was sent here (agents.tellings)
    bool leaving;         // the connection is gone, and gets no requests any more
};

// Records of the router: of the child whose program the agent is, and of the user whose connection has registered the
// agent.
struct child_record;
struct user;

struct agent {
    struct registrant *registrant;
    struct list by_registrant;
    struct list link; // in the table, by the order of registration
    enum governance governance;
    uint64_t serial;                   // the number of its registration
    uint64_t holder;                   // to whom quota_bytes count (quota.h); 0: to nobody
    uint64_t connected_since_ms;       // of the wall clock
    uint64_t held_since_ms;            // by a monotonic clock, the same for all agents
    struct capabilities *capabilities; // one reference
    struct latency *latency;           // one reference, or NULL
    struct membership *memberships;    // in groups
    size_t membership_count;
    struct subscription **subscriptions; // to patterns that its capabilities list
    size_t subscription_count;
    uint64_t quota_bytes;             // memory of the agent on all shards for which its quota was checked
    const struct child_record *child; // of a child's own agent, which stays with its registrant; else NULL
    const struct user *owner;         // or NULL
    // A hermes child's answer to initialize, whose buttons are commands; or NULL
    struct capabilities *initialize_result;
    uint32_t pool_bytes; // the length of the id's beginning that is the pool's name; 0: no pool
    bool hermes;         // a hermes extension
    bool resting;        // the program isn't running now: messages for it wait
    bool absent;         // the program won't run again: no message finds the agent
    bool local_only;     // messages from other hubs don't find the agent
    uint32_t tag; // a hash of the id (AGENT_TAG_BITS), not 0, that tells agents of one registrant apart
    // Of a child, on the last shard: a digest of the description that subscribers know
    // (router/registry/presence.h); 0: none
    uint64_t told;
    size_t id_bytes;
    char id[];
};
