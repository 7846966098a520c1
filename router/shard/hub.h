// What all shards of a hub share. It is made before they run; after that each field says who may write it.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buffer.h"
#include "core/base/limits.h"
#include "core/base/siphash.h"
#include "io/io.h"
#include "router/shard/mailbox.h"

struct shard;

// How the hub ends: all shards go through these together; the last one to finish a phase begins the next
// (drain.c).
enum hub_phase {
    HUB_SERVING,
    HUB_DRAINING, // no new connections and requests; what is pending gets its time
    HUB_CLOSING,  // connections are closed
    HUB_STOPPED,  // what was lent between shards has come home
};

// Random, each by itself: what is published under the one tells nothing of the other.
struct hub_secrets {
    struct siphash_key tables;   // of hash tables
    struct siphash_key sessions; // of the names under which connections are known
};

struct hub_settings {
    // These may be read again while the hub runs (hub_reload), but for limits.connections_max.
    struct limits limits;
    bool require_initialize;
    bool takeover;
    bool strict;            // of the two depths of validation (validate.h)
    bool half_close_leaves; // a peer's end means that it has left, and not only that it asks no more

    // These stay.
    uint32_t shard_count;
    bool share_addresses; // with a hub that takes over: SIGTERM steps aside before it drains
    const char *journal;  // the audit journal's path; NULL: none is kept
    struct hub_secrets secrets;
    uint32_t process;
    enum io_backend io; // what every shard opens
    uint64_t spin_ns;   // as io_options
    // Reads the configuration again over *fresh; false when it can't be used, and that has been said. NULL:
    // there is none to read.
    bool (*read_again)(void *context, struct hub_settings *fresh);
    void *read_context;
};

// Settings that took effect once, and those before them.
struct hub_edition {
    struct hub_settings settings;
    struct hub_edition *before;
};

struct hub {
    struct hub_settings settings; // as at the start; constant
    // Those in effect: replaced by shard 0, taken up by each shard at its next turn, and kept until the end
    // because another shard may still be reading them.
    struct hub_edition *_Atomic edition;
    struct shard **shards;     // each is set by its own thread before any runs
    struct mailbox *mailboxes; // from shard * shard_count + to shard
    struct buffer_budget budget;
    _Atomic uint64_t journal_bytes; // of entries on their way to the journal, counted by all shards
    _Atomic uint32_t **owed; // of [shard][slot]: requests that this connection owes, counted by all shards
    _Atomic uint32_t *connections;   // of [shard]: counted up by the acceptor, down by the shard
    _Atomic uint32_t *subscriptions; // of [shard]: entries in its table of topics, set by the shard
    // Of large frames near the bound of memory (pressure.c).
    _Atomic uint64_t *slowest;      // of [shard]: the rank of its slowest sender, set by the shard
    _Atomic uint64_t waiting_ms;    // when a shard last saw that a frame had waited for long
    _Atomic uint64_t give_way_ms;   // when a slow sender may be closed for it
    _Atomic uint64_t relieved_ms;   // when a shard last closed a slow reader
    _Atomic uint32_t phase;         // enum hub_phase
    _Atomic uint32_t phase_waiting; // shards that have not finished this phase
};

// Makes a hub; its settings are copied. 0 or -ENOMEM.
int hub_create(struct hub **out, const struct hub_settings *settings);
// Reads the configuration again, on shard 0's thread. False when it can't be used or memory is used up: the
// hub goes on as before.
bool hub_reload(struct hub *hub);
// Every shard must have been closed.
void hub_destroy(struct hub *hub);

static inline struct mailbox *hub_mailbox(struct hub *hub, uint32_t from, uint32_t to) {
    assert(from < hub->settings.shard_count && to < hub->settings.shard_count);
    return &hub->mailboxes[from * hub->settings.shard_count + to];
}
// The settings in effect.
static inline const struct hub_settings *hub_settings(const struct hub *hub) {
    return &atomic_load(&hub->edition)->settings;
}
static inline enum hub_phase hub_phase(const struct hub *hub) {
    return (enum hub_phase)atomic_load_explicit(&hub->phase, memory_order_acquire);
}

// A connection's name in the whole hub: shard, slot, generation. 0 is nobody.
static inline uint64_t hub_connection(uint32_t shard, uint32_t slot, uint32_t generation) {
    assert(shard < SHARDS_MAX && slot <= 0xffffff);
    return (uint64_t)shard << 56 | (uint64_t)slot << 32 | generation;
}
static inline uint32_t connection_shard(uint64_t connection) {
    return (uint32_t)(connection >> 56);
}
static inline uint32_t connection_slot(uint64_t connection) {
    return (uint32_t)(connection >> 32) & 0xffffff;
}
// Whether there is such a place in this hub, whoever has it now.
static inline bool hub_knows(const struct hub *hub, uint64_t connection) {
    return connection_shard(connection) < hub->settings.shard_count &&
           connection_slot(connection) < hub->settings.limits.connections_max;
}

// The name under which peers and the journal know a connection, in hexadecimal digits: no two have the same,
// and nobody can tell from it another one's, or anything of the hub.
enum { HUB_SESSION_BYTES = 2 * SIPHASH_BYTES };
void hub_session(const struct hub *hub, uint64_t connection, char *out);

// How many requests a connection owes: as groups_load, with the hub as context.
uint32_t hub_owed(const void *hub, uint64_t connection);
// Adds to it.
void hub_owe(struct hub *hub, uint64_t connection, int32_t change);
// The shard with the fewest connections.
uint32_t hub_emptiest_shard(const struct hub *hub);
// Connections of all shards together.
uint32_t hub_connection_count(const struct hub *hub);
