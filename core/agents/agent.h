// An agent, and the home where it lives: what the table of agents, its groups and its topics all know.
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

// Judges the name of an agent. An agentId ends up in logs, metrics and NATS subjects, so only characters that
// need no escaping in any of them are allowed.

// Whether `text` is 1 to AGENT_ID_BYTES_MAX ASCII letters, digits, '-', '_', '.', ':' and '/', with no empty
// part between, before or after dots. Any bytes may be asked about; `text` may be null when `bytes` is 0.
bool agent_id_valid(const char *text, size_t bytes);

// --- Capabilities

// The capabilities of an agent, as they were written: once for all shards, which only read them. The last
// holder gives them back, on its own account (quota.h).

struct capabilities {
    _Atomic uint32_t references;
    uint32_t bytes;
    uint8_t text[]; // a JSON object or array, BUFFER_SLACK_BYTES readable behind it
};

// With one reference. NULL when memory, or the quota, is used up.
struct capabilities *capabilities_create(struct quota *quota, const void *text, size_t bytes);
// One more reference, on any shard's thread that has one.
struct capabilities *capabilities_hold(struct capabilities *capabilities);
// Gives one up. NULL is allowed.
void capabilities_drop(struct quota *quota, struct capabilities *capabilities);

// All of the text.
static inline struct span capabilities_span(const struct capabilities *capabilities) {
    return (struct span){0, capabilities->bytes};
}

// Bits that tell the agents of one home apart. Only a name in an error's data depends on them.
enum { AGENT_TAG_BITS = 28 };

struct home {
    uint64_t connection;
    struct list agents;   // struct agent.by_home
    struct list pending;  // struct pending.by_target: this shard's requests that it owes
    struct list streams;  // of HCS sessions that live on this shard and that it produces
    struct list link;     // of the table's homes in one hash chain
    uint64_t quota_bytes; // of its agents
    uint64_t told;        // the last notification that went to all who name it (agents.tellings)
    bool leaving;         // its connection is gone, and nothing more is asked of it
};

// Records of the router, which agents point to: of a child, where the agent is a program that the hub keeps,
// and of the user whose connection registered the agent.
struct child_record;
struct user;

struct agent {
    struct home *home;
    struct list by_home;
    struct list link; // in the table, by the order of registration
    enum governance governance;
    uint64_t serial;                   // of its registration
    uint64_t holder;                   // for whom quota_bytes are counted (quota.h); 0: nobody
    uint64_t connected_since_ms;       // of the wall clock
    uint64_t held_since_ms;            // by one clock for all agents, that no one sets
    struct capabilities *capabilities; // one reference
    struct latency *latency;           // one reference, or NULL
    struct membership *memberships;    // in groups
    size_t membership_count;
    struct subscription **subscriptions; // that its capabilities are a reason for
    size_t subscription_count;
    uint64_t quota_bytes;             // what it takes, on all shards for which it was judged
    const struct child_record *child; // NULL: it is none; else it stays with its home
    const struct user *owner;         // or NULL
    struct capabilities *answer;      // to its initialize, of which it offers what its buttons name; or NULL
    uint32_t pool_bytes; // of its id: the name that it shares with other instances; 0: it is the only one
    bool hermes;         // it is told of closed windows
    bool resting;        // it isn't running now: what is for it alone waits
    bool absent;         // it won't run again: nobody finds it
    bool here_only;      // it is for who is at this hub: nobody at another one finds it
    uint32_t tag;        // of its id (AGENT_TAG_BITS), not 0: tells which of its home's it is
    uint64_t
        told; // of a child's, on the last shard: of what subscribers know of it (router/registry/presence.h); 0: it isn't
    size_t id_bytes;
    char id[];
};
