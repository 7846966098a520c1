// The table of agents: agentId → the connection where the agent lives.
//
// Each shard has a table of its own, so that reading takes no lock. The registry applies the same changes in the same
// order to each, so that all tables are the same. A home is a connection on which agents live.
// Requests to these agents hang on the home, so that all of them can be ended when the connection goes.
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

enum { HOME_CHAIN_BITS = 10, HOME_CHAINS = 1 << HOME_CHAIN_BITS };
enum { FOUND_BITS = 9, FOUND_PLACES = 1 << FOUND_BITS };

// An agent that was found by its id; NULL: none.
struct agent_found {
    struct agent *agent;
    uint64_t end; // of its id
};

// An id that nobody had when so many changes had been; bytes 0: none. Hubs ask for who is at another one again and again.
enum { MISSED_BITS = 5, MISSED_PLACES = 1 << MISSED_BITS, MISSED_ID_BYTES_MAX = 52 };
struct agent_missed {
    uint64_t changes;
    uint32_t id_bytes;
    char id[MISSED_ID_BYTES_MAX];
};

struct agents {
    struct name_map by_id;
    struct agent_found found[FOUND_PLACES]; // last, by the end of the id: most are asked for again and again
    struct agent_missed missed[MISSED_PLACES]; // likewise
    struct groups groups;
    struct topics topics; // what this shard's own connections subscribe to
    struct list all;
    struct list homes[HOME_CHAINS]; // by connection
    uint64_t multiplier;            // secret: of their hash
    uint32_t shard;                 // whose table it is; constant
    size_t count;
    uint64_t changes;            // of who is there, and offers what
    uint64_t serials;            // of registrations, that whoever counts them has given out
    uint64_t tellings;           // of notifications to all who name them: whoever tells them counts up
    struct quota *quota;         // the account of their memory
    struct quota_shares *shares; // where holders' bytes are counted; NULL: on another shard
    uint64_t beyond;             // agents that there was no room for, as their holder had its share
};

// The parts of an agent to be put. The id is copied.
struct agent_profile {
    uint64_t connection;
    struct subscriber *subscriber; // if the connection is this shard's and can take events; else NULL
    const char *id;
    size_t id_bytes;
    struct capabilities *capabilities; // the agent takes a reference of its own
    struct latency *latency;           // likewise, or NULL
    enum governance governance;
    const struct child_record *child; // as in struct agent, as those below
    const struct user *owner;
    struct capabilities *answer; // likewise a reference of its own
    uint32_t pool_bytes;
    bool hermes, resting, absent, here_only;
    uint64_t connected_since_ms, held_since_ms;
    uint64_t serial;
    uint64_t holder; // for whom it is kept (quota.h); 0: for the hub itself
    // The number of shards that will keep the same agent. The function judges whether there is room, and whether the
    // connection takes no more than its share. 0: another shard has judged both already.
    uint32_t judged_for;
    uint64_t *set_aside; // on the account's bound, for those other shards: each accepts its part (quota.h)
};

void agents_init(struct agents *agents, const struct siphash_key *key, struct quota *quota);
void agents_deinit(struct agents *agents);

struct agent *agents_find(const struct agents *agents, const char *id, size_t id_bytes);
// Finds an agent and remembers it: the next time its id costs a comparison.
struct agent *agents_find_again(struct agents *agents, const char *id, size_t id_bytes);
// Adds an agent, or puts it in the place of the one that has its id, on whichever connection. NULL when
// memory, or the quota, is used up: then nothing has changed.
struct agent *agents_put(struct agents *agents, const struct agent_profile *profile);
void agents_remove(struct agents *agents, struct agent *agent);

// The home at a connection, or NULL.
struct home *agents_home(struct agents *agents, uint64_t connection);
// One of those at a connection, or NULL.
const struct agent *agents_one_at(struct agents *agents, uint64_t connection);
// The connection takes no events any more: what its agents list is no reason for a subscription now.
void agents_silence_home(struct agents *agents, struct home *home);
// Takes a home out with all of its agents. The requests that it owes must have been ended.
void agents_remove_home(struct agents *agents, struct home *home);
