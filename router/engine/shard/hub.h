// State that all shards of a hub share, made before the shards run. A field that changes afterwards is atomic or names
// the thread that writes to the field.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents/agents.h"
#include "core/base/buffer.h"
#include "core/base/governance.h"
#include "core/base/limits.h"
#include "core/base/siphash.h"
#include "core/child/child_settings.h"
#include "core/cluster/subject.h"
#include "core/wire/http_url.h"
#include "io/io.h"
#include "io/sandbox_layer.h"
#include "router/engine/shard/authn_throttle.h"
#include "router/engine/shard/feature.h"
#include "router/engine/shard/mailbox.h"

// --- Allowed names

// Names of hosts or origins that the operator allows.

enum { ALLOWLIST_MAX = 16, ALLOWLIST_BYTES_MAX = 255 };

struct allowlist {
    uint32_t count;
    char names[ALLOWLIST_MAX][ALLOWLIST_BYTES_MAX + 1];
};

// Adds a name. Returns false if the name is empty or too long, or if the list is full.
bool allowlist_add(struct allowlist *allowed, const char *name);
// Returns the name of the list that is equal but for case, or NULL. The list owns the result.
const char *allowlist_find(const struct allowlist *allowed, const void *name, size_t bytes);

struct account;
struct cluster_settings;
struct feature;
struct feature_set;
struct keeper;
struct resolver;
struct secure_source;
struct shard;
struct users;

// The phases of a hub's end. All shards are in the same phase: the last shard to finish a phase begins the next
// (drain.c).
enum hub_phase {
    HUB_SERVING,
    HUB_DRAINING, // new connections and requests are refused; pending requests may still be answered
    HUB_CLOSING,  // connections are closed
    HUB_STOPPED,  // each shard has back what the other shards had of it
};

// Random keys, independent of each other: a hash that is published under one key tells nothing of the other keys.
struct hub_secrets {
    struct siphash_key tables;      // of hash tables
    struct siphash_key sessions;    // of the names of connections (hub_session)
    struct siphash_key checkpoints; // of the ids of held messages
    struct siphash_key spans;       // of the ids of traces and spans
};

enum { HUB_DISPLAY_BYTES_MAX = 64 };

// The cluster of hubs that the hub belongs to. An empty name: there is none.
struct hub_cluster {
    char name[CLUSTER_NAME_BYTES_MAX + 1];
    char hub_name[HUB_DISPLAY_BYTES_MAX + 1]; // this hub's name in lists and logs
    uint64_t realm_grace_ns;                  // how long hubs of the former REALM are served; 0: not at all
    struct cluster_settings *settings;        // the servers and the credentials; or NULL
};

// The state of the sandbox (--sandbox), as hub/stats tells it.
enum sandbox_mode { SANDBOX_OFF, SANDBOX_ON, SANDBOX_REQUIRED };

struct hub_sandbox {
    enum sandbox_mode mode;
    bool may_dial;                   // the sandbox lets the hub connect to other addresses
    bool has_secret;                 // a feature keeps credentials in the hub
    const char *files[FEATURES_MAX]; // a file that a feature reads while the hub runs, by number; or NULL
    enum sandbox_layer_state layers[SANDBOX_LAYER_COUNT];
};

// The notices that a service manager gets.
enum hub_notice { HUB_RELOADS, HUB_IS_READY, HUB_STOPS, HUB_IS_ALIVE };

enum { OPTIONS_OWN_MAX = 8 };

struct hub_settings {
    // A reload may change these (hub_reload), but for limits.connections_max.
    struct limits limits;
    bool require_initialize;
    bool takeover;
    bool progress_extends; // progress extends the time-out of a request whose source sets no time-out
    bool strict;           // the whole body is validated, not the routed fields alone (validate.h)
    struct child_settings *children; // a linked list, owned by the edition
    struct allowlist hosts;       // that HTTP's Host may name, beside the listener's and this machine's names
    struct allowlist origins;     // whose pages may connect to the hub, beside the hub's own page
    struct secure_source *secure; // certificates and keys of TLS; the edition has one reference; NULL: no TLS
    bool half_close_leaves;       // the end of a peer's stream means that the peer has left
    struct realm realm; // the hash of the users file and the gate: hubs with the same realm serve each other
    struct realm previous; // the realm before the last reload, valid until previous_until_ms; bytes 0: none
    uint64_t previous_until_ms;                  // by the shards' clock (shard_now_ms)
    uint64_t own[FEATURES_MAX][OPTIONS_OWN_MAX]; // values of features' options (option.h)
    // The users file, owned by the edition. NULL, for the whole run: everybody may do everything
    struct users *users;

    // These are constant.
    const struct feature *const *features; // all features, by number (feature.h); NULL: none
    uint32_t shard_count;
    // Another hub may listen on the same addresses: SIGTERM ends listening before draining
    bool share_addresses;
    struct keeper *keeper; // the process that starts children; NULL: no children are possible
    const char *journal;   // the path of the audit journal; NULL: there is no journal
    // A message that requires this level or more is held for approval; 0: none is held
    enum governance approval_level;
    struct hub_secrets secrets;
    uint32_t process;
    struct hub_cluster cluster;
    struct http_url collector_url; // the collector of spans (router/features/trace); an empty host: none
    // Of the features that look up host names, by number; NULL: none
    const struct resolver *resolvers[FEATURES_MAX];
    enum io_backend io;               // the backend that every shard opens
    uint64_t spin_ns, hold_ns;        // as in struct io_options
    const struct turn_bounds *bounds; // NULL: turn_bounds_defaults
    struct hub_sandbox sandbox;       // of the hub's process, complete before the hub says that it listens
    // Reads the configuration into *fresh. Returns false if the configuration is wrong, which has been logged. NULL:
    // there is no configuration to read.
    bool (*read_again)(void *context, struct hub_settings *fresh);
    void (*in_effect)(void *context); // called when the fresh configuration is in effect; or NULL
    void *read_context;
    // Tells the service manager; called with read_context on shard 0; or NULL.
    void (*notice)(void *context, enum hub_notice notice);
    uint64_t watchdog_ms; // the interval of HUB_IS_ALIVE; 0: never
};

// One version of the settings. The newest is in effect; older ones are kept for shards that still read them.
struct hub_edition {
    struct hub_settings settings;
    uint64_t number; // the number of the edition before, plus one
    struct hub_edition *before;
};

struct hub {
    struct hub_settings start_settings; // the settings of the start; constant
    // The settings in effect. Shard 0 replaces the edition. Each shard takes the new edition at its next turn
    // (shard_take_settings). An edition is freed when no shard reads it any more.
    struct hub_edition *_Atomic edition;
    struct feature_set *features;         // the features that this hub has; constant
    struct feature_set *features_watched; // the same features with those that watch messages; constant
    // The state of each feature, by number (feature.h); NULL: the feature is absent or has no state.
    void *states[FEATURES_MAX];
    struct shard **shards;     // each thread sets its own shard before any shard runs
    struct mailbox *mailboxes; // index: sending shard * shard_count + receiving shard
    struct buffer_budget budget;
    _Atomic bool failed; // a process or thread that the hub needs has ended: the hub exits with status 1
    _Atomic uint64_t journal_bytes; // of journal entries that aren't written yet; all shards count
    // The journal's file descriptor, with which a shard checks that the journal can be written
    _Atomic int journal_file;
    // The error that a shard found in writing the journal; 0: none since shard 0 looked
    _Atomic int journal_doubt;
    _Atomic bool journal_failing; // the journal's last group wasn't written; shard 0 sets this
    _Atomic uint32_t **pending;   // [shard][slot]: requests that the connection must answer; all shards count
    // [shard]: the number of the oldest connection without a credential; the shard sets this once a turn; 0:
    // there is none, or the connection was asked to close
    _Atomic uint64_t *unauthenticated_oldest;
    // Connections that came without a credential, on all shards; each gets the next number
    _Atomic uint64_t unauthenticated_count;
    // [shard]: the number of the edition that the shard reads; the shard sets this
    _Atomic uint64_t *taken_up;
    _Atomic uint32_t *connections;   // [shard]: the acceptor counts up, the shard counts down
    _Atomic uint32_t *subscriptions; // [shard]: entries of the shard's table of topics; the shard sets this
    _Atomic uint32_t presence_subscriptions; // of all shards, to the hub's events about agents
    _Atomic uint32_t presence_hubs;          // other hubs with such subscriptions; shard 0 sets this
    struct subscriber_count *demand; // subscriptions by topic; all shards count; NULL: there is no users file
    // With these the shards agree which large frames are dropped near --max-memory (pressure.c).
    _Atomic uint64_t *slowest;    // [shard]: the rank of the shard's slowest sender; the shard sets this
    _Atomic uint64_t waiting_ms;  // when a shard last saw a frame that had waited for long
    _Atomic uint64_t give_way_ms; // when a slow sender may be closed to make room
    _Atomic uint64_t relieved_ms; // when a shard last closed a slow reader
    uint64_t began_ms;            // the start, by the shards' clock; constant
    struct authn_throttle authn_throttle; // of wrong credentials
    struct quota_shares shares;           // memory that peers occupy outside messages, by user or address
    struct account *strangers;            // the refusals of connections whose user isn't known
    // N of the present or the last link (section 11 of the protocol page); shard 0 sets this
    _Atomic uint32_t link_number;
    _Atomic uint32_t hubs_unserved;  // other hubs with another protocol or REALM; shard 0 sets this
    _Atomic uint32_t hubs_strict;    // other hubs that validate whole bodies; shard 0 sets this
    _Atomic uint64_t events_dropped; // events that could not be published to other hubs
    _Atomic uint64_t events_unknown; // how often other hubs lost events for subscribers of this hub
    // The largest payload of the link's NATS server; shard 0 sets this
    _Atomic uint64_t link_payload_bytes_max;
    _Atomic uint64_t asked_ms;      // when a client last asked for hub/stats or the like (survey.c); 0: never
    _Atomic uint32_t phase;         // enum hub_phase
    _Atomic uint32_t phase_waiting; // the shards that have not finished the phase
};

// Makes a hub and copies the settings. Returns 0 or -ENOMEM.
int hub_create(struct hub **out, const struct hub_settings *settings);
enum { HUB_LIMITS_FAULT_BYTES = 96 };
// Returns whether a running hub may take these limits. Returns false if the memory is less than the shards need, or if
// the quota in use takes more than half of the memory. The quota falls only when peers leave, so otherwise the hub
// might never receive again. With false, writes to `expected` which memory is allowed.
bool hub_accepts_limits(const struct hub *hub, const struct limits *limits,
                        char expected[HUB_LIMITS_FAULT_BYTES]);
// Reads the configuration and puts it into effect; on shard 0's thread. Returns false if the configuration is wrong,
// or without memory: then the hub goes on as before.
bool hub_reload(struct hub *hub, uint64_t now_ms);
// Frees the hub. Every shard must have been closed.
void hub_destroy(struct hub *hub);

// Returns whether the hub is one of a cluster of hubs.
static inline bool hub_has_cluster(const struct hub *hub) {
    return hub->start_settings.cluster.name[0] != '\0';
}

static inline struct mailbox *hub_mailbox(struct hub *hub, uint32_t from, uint32_t to) {
    assert(from < hub->start_settings.shard_count && to < hub->start_settings.shard_count);
    return &hub->mailboxes[from * hub->start_settings.shard_count + to];
}
// Returns the settings in effect.
static inline const struct hub_settings *hub_settings(const struct hub *hub) {
    return &atomic_load(&hub->edition)->settings;
}
static inline enum hub_phase hub_phase(const struct hub *hub) {
    return (enum hub_phase)atomic_load_explicit(&hub->phase, memory_order_acquire);
}

// Returns the name of a connection, unique in the hub: shard, slot, generation. 0 names no connection.
static inline uint64_t connection_id_make(uint32_t shard, uint32_t slot, uint32_t generation) {
    assert(shard < SHARDS_MAX && slot <= 0xffffff);
    return (uint64_t)shard << 56 | (uint64_t)slot << 32 | generation;
}
static inline uint32_t connection_shard(uint64_t connection) {
    return (uint32_t)(connection >> 56);
}
static inline uint32_t connection_slot(uint64_t connection) {
    return (uint32_t)(connection >> 32) & 0xffffff;
}
// Returns whether the hub has such a slot, whichever connection is in the slot now.
static inline bool hub_knows(const struct hub *hub, uint64_t connection) {
    return connection_shard(connection) < hub->start_settings.shard_count &&
           connection_slot(connection) < hub->start_settings.limits.connections_max;
}

// Writes the name under which peers and the journal know a connection: hexadecimal digits, different for each
// connection. The name tells nothing about other names or the hub's secrets.
enum { HUB_SESSION_BYTES = 2 * SIPHASH_BYTES };
void hub_session(const struct hub *hub, uint64_t connection, char *out);

// Returns how many requests a connection must answer. A callback of type groups_load with the hub as its context.
uint32_t hub_pending(const void *hub, uint64_t connection);
// Adds `change` to the number of requests that a connection must answer.
void hub_pending_add(struct hub *hub, uint64_t connection, int32_t change);
// Returns the shard with the fewest connections.
uint32_t hub_emptiest_shard(const struct hub *hub);
// Returns the number of connections of all shards.
uint32_t hub_connection_count(const struct hub *hub);

// Writes the NODE under which other hubs know this hub: constant for the life of the process.
void hub_node(const struct hub *hub, char out[NODE_BYTES]);
// Has all shards tell their subscribers that events of other hubs were lost.
void hub_lose_events(struct hub *hub);
