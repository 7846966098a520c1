// State that most peers never need, kept beside struct peer. The first use makes the state, and the peer's end gives it
// back. The engine's fields here are set for few peers and read seldom. A feature's state of a peer is found by the
// feature's number (peer_state).
#pragma once

#include <stdint.h>

#include "core/base/quota.h"
#include "core/base/wheel.h"
#include "router/engine/shard/feature.h"

struct peer;

// The agent that gets each message without a target from this peer (hub/attach).
struct attachment {
    uint32_t bytes;
    char agent[];
};

struct identity;

struct peer_cold {
    struct peer *peer;         // the owner
    struct timer timer;        // for the transport (peer_ops.expire)
    struct identity *identity; // with a users file (identity.h); else NULL
    // A hash of the address, made when a limit first counts by address; 0: not made yet
    uint64_t address_hash;
    uint64_t quota_holder;         // to whom the quota of the peer's subscriptions counts (core/base/quota.h)
    uint64_t quota_bytes;          // the quota of the peer's subscriptions
    struct attachment *attachment; // after hub/attach; else NULL
    bool end_detaches;             // the end of the stream means that the peer has left, as hub/attach asked
    bool cancel_ends;              // a request of the peer ends when the peer cancels it, as MCP has it
    bool is_awaiting_continue;     // the peer waits for a "100 Continue", and the frame's time-out is stopped
    void *states[FEATURES_MAX];    // each feature's state of the peer, by number; or NULL
};

// Makes the cold state of a peer, with a timer of this kind. Returns NULL without memory.
struct peer_cold *peer_cold_create(struct quota *connection_quota, struct peer *peer, uint8_t timer_kind);
// Gives back a peer's cold state and all that it owns; NULL is allowed. The timer must not be armed, and quota_bytes
// must be 0.
void peer_cold_destroy(struct quota *quota, struct quota *connection_quota, struct peer_cold *cold);
// Replaces the attachment. Returns false without memory: then the former attachment stays.
bool peer_cold_attach(struct quota *quota, struct peer_cold *cold, const char *agent, size_t bytes);
