// Held messages of a shard's peers, which wait until an approver decides (router/features/gate). A held message stays
// on its source's shard, which alone ends it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/base/governance.h"
#include "core/base/list.h"
#include "core/base/wheel.h"
#include "core/requests/checkpoint.h"
#include "core/rights/digest.h"
#include "core/send/parcel.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"
#include "router/features/feature_list.h"

struct attachment;
struct exchange;
struct origin;
struct user;

// Checkpoints are random, so nobody can put many of them in one bucket.
enum { GATE_BUCKETS = 1024 };

struct held_message {
    struct list by_age;        // in gate.held; after approval in gate.released
    struct list by_source;     // in gate_source.held
    struct list by_checkpoint; // in a bucket of gate.buckets; in no list after approval
    struct timer timer;
    struct checkpoint checkpoint;
    uint64_t source;           // the source's connection
    const struct user *user;   // the user who sent the message, of any edition; NULL: there is no users file
    struct origin *origin;     // the origin of a message from another hub; or NULL
    struct exchange *exchange; // the exchange that a request's answer belongs to, or NULL
    struct unit unit;
    struct frame frame;                           // the held frame, of `unit`; one reference on its buffer
    struct span id, method, target, source_agent; // parts of the body; bytes 0: the body hasn't the part
    struct attachment *attachment; // the attachment that gave the target when the message came; NULL: none
    struct message_hold hold;
    uint64_t until_ms;              // when the wait ends, in ms since 1970
    enum governance governance : 8; // the level that the message requires
    uint8_t audit;                  // enum message_audit
    uint8_t credential;             // enum credential_kind: how the user was identified
    struct digest digest;           // of the user's token
    bool is_request;
    bool is_released;
    // The message is held because of the agent that was chosen for it, and is approved for that agent alone
    bool is_for_one;
    bool is_asked;  // the message counts as pending for its user
    uint32_t bytes; // bytes counted in gate_hub.held_bytes
};

// The feature's own options (gate_release.c).
enum gate_option {
    GATE_OPTION_WAIT_NS,
    GATE_OPTION_HELD_MAX // messages; one source may have a quarter of them
};

static inline uint64_t gate_option(const struct shard *shard, enum gate_option option) {
    return shard->settings->own[FEATURE_GATE][option];
}

enum gate_gauge { GATE_GAUGE_HELD, GATE_GAUGE_BYTES, GATE_GAUGES };

struct gate {
    struct list held;     // oldest first
    struct list released; // approved, and not routed yet
    struct list buckets[GATE_BUCKETS];
    uint64_t made; // the number of checkpoints made
    // Queries of this shard's peers that haven't ended (router/features/gate/gate_query.h)
    uint32_t queries_out;
};

// The held messages of one peer.
struct gate_source {
    struct list held; // struct held_message.by_source
    uint32_t count;
    uint64_t bytes; // bytes counted in gate_hub.held_bytes
};

// Counts of held messages in the whole hub; all shards count.
struct gate_hub {
    _Atomic uint32_t held;       // messages
    _Atomic uint64_t held_bytes; // bytes of memory that the held messages take
};

static inline struct gate_hub *gate_hub_of(const struct hub *hub) {
    return hub->states[FEATURE_GATE];
}
// Returns the shard's gate; NULL: the hub has no gate.
static inline struct gate *gate_of(const struct shard *shard) {
    return shard->states[FEATURE_GATE];
}
// Returns a peer's held messages; NULL: nothing of the peer was held yet.
static inline struct gate_source *gate_source_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_GATE);
}
// Returns a peer's held messages, made if there are none; NULL without memory.
struct gate_source *gate_source_take(struct shard *shard, struct peer *peer);
// Implement feature.open and feature.close. No message may be held at the end.
bool gate_open(struct shard *shard);
void gate_close(struct shard *shard);
// Returns the held message under this checkpoint, or NULL.
struct held_message *gate_find(const struct gate *gate, const struct checkpoint *checkpoint);
// Returns the latest request with this id in a peer's list of held messages (gate_source.held), or NULL.
struct held_message *gate_find_sent(const struct list *sent, const uint8_t *text, struct span id);
// Adds a held message whose checkpoint is set.
void gate_add(struct gate *gate, struct held_message *held);
