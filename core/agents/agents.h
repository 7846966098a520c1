// The table of agents: agentId → the agent, and its registrant.
//
// Each shard has a table of its own, so that reading takes no lock. The registry applies the same changes in the same
// order to each table, so all tables are equal. A registrant lists the requests to its agents, so that all can be ended
// when the connection goes.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents/agent.h"
#include "core/agents/groups.h"
#include "core/agents/name_map.h"
#include "core/agents/topics.h"
#include "core/base/governance.h"
#include "core/base/list.h"
#include "core/base/quota.h"

enum { REGISTRANT_CHAIN_BITS = 10, REGISTRANT_CHAINS = 1 << REGISTRANT_CHAIN_BITS };
enum { FOUND_BITS = 9, FOUND_PLACES = 1 << FOUND_BITS };

// A cached search that found an agent; NULL: none.
struct agent_found {
    struct agent *agent;
    uint64_t end; // the last bytes of its id
};

// A cached search that found no agent, valid while agents.changes is equal; bytes 0: none. Other hubs ask for the same
// ids again and again.
enum { MISSED_BITS = 5, MISSED_PLACES = 1 << MISSED_BITS, MISSED_ID_BYTES_MAX = 52 };
struct agent_missed {
    uint64_t changes;
    uint32_t id_bytes;
    char id[MISSED_ID_BYTES_MAX];
};

struct agents {
    struct name_map by_id;
    struct agent_found found[FOUND_PLACES]; // the last searches, by the end of the id
    struct agent_missed missed[MISSED_PLACES];
    struct groups groups;
    struct topics topics; // subscriptions of this shard's connections
    struct list all;
    struct list registrants[REGISTRANT_CHAINS]; // by connection
    uint64_t multiplier;                        // the secret multiplier of the hash of connections
    uint32_t shard;                             // the table's shard; constant
    size_t count;
    uint64_t changes;            // counts changes of agents and of their capabilities
    uint64_t serials;            // the last number of a registration; shard 0 counts
    uint64_t tellings;           // counts notifications to many; the sender counts up
    struct quota *quota;         // the quota of all this
    struct quota_shares *shares; // counts the bytes of holders; NULL: another shard counts
    // Counts agents that were refused, since their holder had its share of the quota
    uint64_t beyond;
};

// The parts of an agent for agents_put, which copies the id.
struct agent_profile {
    uint64_t connection;
    struct subscriber *subscriber; // of a connection of this shard that can get events; else NULL
    const char *id;
    size_t id_bytes;
    struct capabilities *capabilities; // the agent takes a reference of its own
    struct latency *latency;           // likewise, or NULL
    enum governance governance;
    const struct child_record *child; // this and the following as in struct agent
    const struct user *owner;
    struct capabilities *answer; // likewise a reference of its own
    uint32_t pool_bytes;
    bool hermes, resting, absent, local_only;
    uint64_t connected_since_ms, held_since_ms;
    uint64_t serial;
    uint64_t holder; // to whom the agent's quota counts (quota.h); 0: to the hub itself
    // The number of shards that will keep the agent: agents_put checks the quota for all of them, and the holder's
    // share. 0: another shard has checked both already.
    uint32_t judged_for;
    // Gets the quota reserved for the other shards, of which each accepts its part (quota.h)
    uint64_t *set_aside;
};

void agents_init(struct agents *agents, const struct siphash_key *key, struct quota *quota);
void agents_deinit(struct agents *agents);

// Returns the agent of an id, or NULL.
struct agent *agents_find(const struct agents *agents, const char *id, size_t id_bytes);
// Does the same and caches the search, so that the next one costs a comparison.
struct agent *agents_find_again(struct agents *agents, const char *id, size_t id_bytes);
// Adds an agent, or replaces the agent with its id, on whichever connection that is. Returns NULL, and changes nothing,
// without memory or quota.
struct agent *agents_put(struct agents *agents, const struct agent_profile *profile);
void agents_remove(struct agents *agents, struct agent *agent);

// Returns the registrant of a connection, or NULL.
struct registrant *agents_registrant(struct agents *agents, uint64_t connection);
// Returns one agent of a connection, or NULL.
const struct agent *agents_one_at(struct agents *agents, uint64_t connection);
// Ends the subscriptions by the agents of a registrant, since the connection gets no events any more.
void agents_silence_registrant(struct agents *agents, struct registrant *registrant);
// Removes a registrant with all its agents. The requests to the registrant must have been ended.
void agents_remove_registrant(struct agents *agents, struct registrant *registrant);
