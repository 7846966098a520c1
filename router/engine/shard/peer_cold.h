// State that most peers never need, kept beside struct peer: made with its first use, and given back with the peer. The
// engine's own fields are here because each is set for few peers, and read seldom. What a feature keeps for a peer is
// memory of the feature's, found by the feature's number (peer_state). The state knows no peer but its own by pointer, so
// that its parts needn't, either.
#pragma once

#include <stdint.h>

#include "core/base/quota.h"
#include "core/base/wheel.h"
#include "router/engine/shard/feature.h"

struct peer;

// The agent to which all goes that a peer says without a target (hub/attach).
struct attachment {
    uint32_t bytes;
    char agent[];
};

struct identity;

struct peer_cold {
    struct peer *peer;  // whose it is
    struct timer timer; // of the transport's own, of which a silent peer has none (transport.h, expire)
    struct identity *identity; // where users are on (identity.h); else NULL
    uint64_t origin;       // where it comes from, as a hash, once a bound counts by that; 0: nobody has asked
    uint64_t quota_holder; // of one that subscribes: who has the hub keep that (core/base/quota.h)
    uint64_t quota_bytes;  // of its subscriptions, as they are counted
    struct attachment *attachment; // of one that has said hub/attach; else NULL
    bool end_detaches;             // likewise: the end of its stream is its leaving, as it has said
    bool cancel_ends;              // what it asks has ended when it is cancelled, as MCP has it
    bool is_held_up; // it waits to be told that it may go on, and so the time of its frame stands still
    void *states[FEATURES_MAX]; // of features, by number: what each keeps for the peer; or NULL
};

// Makes one for a peer; its timer is of this kind. NULL without memory.
struct peer_cold *peer_cold_create(struct quota *places, struct peer *peer, uint8_t timer_kind);
// Gives back all that is in it; NULL is allowed. Nothing may be in its lists, and its timer not be armed.
void peer_cold_destroy(struct quota *quota, struct quota *places, struct peer_cold *cold);
// Puts another attachment in the place of the one that there is. False where there is no room: then that stays.
bool peer_cold_attach(struct quota *quota, struct peer_cold *cold, const char *agent, size_t bytes);
