// Held messages of a shard's peers, which wait until somebody approves them (router/features/gate). A held
// message lives on its source's shard, which alone decides how it ends.
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

// Checkpoints are random, so that nobody can have many of them in one bucket.
enum { GATE_BUCKETS = 1024 };

struct held_message {
    struct list by_age;        // in gate.held; once it is approved in gate.released
    struct list by_source;     // in gate_source.held
    struct list by_checkpoint; // in a bucket
    struct timer timer;
    struct checkpoint checkpoint;
    uint64_t source;           // connection
    const struct user *user;   // who has sent it, of whatever edition; NULL: users are not on
    struct origin *origin;     // of what came from another hub; or NULL
    struct exchange *exchange; // of a request, that its answer belongs to, or NULL
    struct unit unit;
    struct frame frame;                           // of its unit; one reference on its buffer
    struct span id, method, target, source_agent; // of the body; bytes 0: it has none
    struct attachment *attachment; // by which it has a target, as it was when it came; NULL: it has none
    struct message_hold hold;
    uint64_t until_ms;              // in milliseconds since 1970
    enum governance governance : 8; // that it requires
    uint8_t audit;                  // enum message_audit
    uint8_t credential;             // enum credential, by which it is its user's
    struct digest digest;           // of a token
    bool is_request;
    bool is_released;
    bool is_for_one; // the agent that was to get it is held, and the message isn't
    bool is_asked;   // it counts among what its user has pending
    uint32_t bytes;  // that count in gate_hub.held_bytes
};

// The feature's own options (gate_release.c).
enum gate_option {
    GATE_OPTION_WAIT_NS,
    GATE_OPTION_HELD_MAX // messages, of which a quarter may be one source's
};

static inline uint64_t gate_option(const struct shard *shard, enum gate_option option) {
    return shard->settings->own[FEATURE_GATE][option];
}

enum gate_gauge { GATE_GAUGE_HELD, GATE_GAUGE_BYTES, GATE_GAUGES };

struct gate {
    struct list held;     // oldest first
    struct list released; // approved, and not routed yet
    struct list buckets[GATE_BUCKETS];
    uint64_t made;        // checkpoints
    uint32_t queries_out; // of this shard's peers (router/features/gate/gate_query.h)
};

// The held messages of one peer.
struct gate_source {
    struct list held; // struct held_message.by_source
    uint32_t count;
    uint64_t bytes; // that count in gate_hub.held_bytes
};

// Counts of held messages in the whole hub; all shards count.
struct gate_hub {
    _Atomic uint32_t held;       // messages
    _Atomic uint64_t held_bytes; // of memory, that these take
};

static inline struct gate_hub *gate_hub_of(const struct hub *hub) {
    return hub->states[FEATURE_GATE];
}
// The shard's; NULL: nothing is held.
static inline struct gate *gate_of(const struct shard *shard) {
    return shard->states[FEATURE_GATE];
}
// A peer's; NULL: it has sent nothing yet that was held.
static inline struct gate_source *gate_source_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_GATE);
}
// The same, made if there is none; NULL without memory.
struct gate_source *gate_source_take(struct shard *shard, struct peer *peer);
// As feature.open and feature.close: nothing may be held at the end.
bool gate_open(struct shard *shard);
void gate_close(struct shard *shard);
// Returns the held message under this checkpoint, or NULL.
struct held_message *gate_find(const struct gate *gate, const struct checkpoint *checkpoint);
// The latest request with this id of those that one connection has sent (gate_source.held); or NULL.
struct held_message *gate_find_sent(const struct list *sent, const uint8_t *text, struct span id);
// Enters one; its checkpoint is set.
void gate_add(struct gate *gate, struct held_message *held);
