// An agent, and the home where it lives: what the table of agents, its groups and its topics all know.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/agents/capabilities.h"
#include "core/base/governance.h"
#include "core/base/list.h"

struct home {
    uint64_t connection;
    struct list agents;  // struct agent.by_home
    struct list pending; // struct pending.by_target: this shard's requests that it owes
    struct list link;    // of the table's homes in one hash chain
    uint64_t kept_bytes; // of its agents
};

struct agent {
    struct home *home;
    struct list by_home;
    struct list link; // in the table, by the order of registration
    enum governance governance;
    uint64_t serial;                   // of its registration
    uint64_t connected_since_ms;       // of the wall clock
    struct capabilities *capabilities; // one reference
    struct membership *memberships;    // in groups
    size_t membership_count;
    struct subscription **subscriptions; // that its capabilities are a reason for
    size_t subscription_count;
    uint64_t kept_bytes; // what it takes, on all shards for which it was judged
    size_t id_bytes;
    char id[];
};
