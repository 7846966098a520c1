// State that most peers never need, kept beside struct peer: made with its first use, and given back with the peer. The
// engine's own fields are here because each is set for few peers, and read seldom. What a feature keeps for a peer is
// memory of the feature's, found by the feature's number (peer_state).
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
    bool end_detaches; // of one that has said hub/attach: it leaves with the end of its stream, as it asked
    bool cancel_ends;  // a request of the peer ends when the peer cancels it, as MCP has it
    bool is_held_up;   // the peer waits for leave to go on, and the time of its frame stands still
    void *states[FEATURES_MAX]; // of features, by number: what each keeps for the peer; or NULL
};

// Makes one for a peer; its timer is of this kind. NULL without memory.
struct peer_cold *peer_cold_create(struct quota *places, struct peer *peer, uint8_t timer_kind);
// Gives back a peer's cold state and all that is in it; NULL is allowed. The timer must not be armed, and quota_bytes must be 0.
void peer_cold_destroy(struct quota *quota, struct quota *places, struct peer_cold *cold);
// Puts another attachment in the place of the present one. False without room: then the present one stays.
bool peer_cold_attach(struct quota *quota, struct peer_cold *cold, const char *agent, size_t bytes);
