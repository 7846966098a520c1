// State that all shards of a hub share, made before the shards run. Each field says which thread may write to the field
// afterwards.
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

// Names that an operator allows: of hosts, or of origins.

enum { ALLOWLIST_MAX = 16, ALLOWLIST_BYTES_MAX = 255 };

struct allowlist {
    uint32_t count;
    char names[ALLOWLIST_MAX][ALLOWLIST_BYTES_MAX + 1];
};

// Adds one; false where it is empty or too long, or there are too many.
bool allowlist_add(struct allowlist *allowed, const char *name);
// Returns the name that is the same but for case, or NULL. The result lives as long as the names do.
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

// How the hub ends: all shards go through these together; the last one to finish a phase begins the next
// (drain.c).
enum hub_phase {
    HUB_SERVING,
    HUB_DRAINING, // no new connections and requests; what is pending gets its time
    HUB_CLOSING,  // connections are closed
    HUB_STOPPED,  // what was lent between shards has come home
};

// Random, each by itself: what is published under one tells nothing of the others.
struct hub_secrets {
    struct siphash_key tables;      // of hash tables
    struct siphash_key sessions;    // of the names under which connections are known
    struct siphash_key checkpoints; // of what is held
    struct siphash_key spans;       // of traces and spans
};

enum { HUB_DISPLAY_BYTES_MAX = 64 };

// The cluster of hubs that the hub belongs to.
struct hub_cluster {
    char name[CLUSTER_NAME_BYTES_MAX + 1];
    char hub_name[HUB_DISPLAY_BYTES_MAX + 1]; // as lists and logs call this hub
    uint64_t realm_grace_ns;                  // so long hubs of the former REALM are served; 0: they aren't
    const struct cluster_settings *settings;  // how the others are reached (router/features/cluster)
};

// How the hub is walled in (--sandbox), as hub/stats tells it.
enum sandbox_mode { SANDBOX_OFF, SANDBOX_ON, SANDBOX_REQUIRED };

struct hub_sandbox {
    enum sandbox_mode mode;
    bool may_dial; // the hub connects to others, which its walls let it
    enum sandbox_layer_state layers[SANDBOX_LAYER_COUNT];
};

// Notices to a service manager.
enum hub_notice { HUB_RELOADS, HUB_IS_READY, HUB_STOPS, HUB_IS_ALIVE };

enum { OPTIONS_OWN_MAX = 8 };

struct hub_settings {
    // These may be read again while the hub runs (hub_reload), but for limits.connections_max.
    struct limits limits;
    bool require_initialize;
    bool takeover;
    bool progress_extends; // the time of a request with a progress token, whose source says nothing of time
    bool strict;           // of the two depths of validation (validate.h)
    struct child_settings *children; // linked; the edition's
    struct allowlist hosts;       // that HTTP's Host may name, besides the listener's own and this machine's
    struct allowlist origins;     // whose pages may speak to the hub, besides its own
    struct secure_source *secure; // what TLS is made from; one reference, the edition's; NULL: there is none
    bool half_close_leaves;       // a peer's end means that it has left, and not only that it asks no more
    struct realm realm;           // which hubs belong together, by the users file and the gate
    struct realm
        previous; // the realm before that, under which hubs may still be asked until former_until_ms; bytes 0: none
    uint64_t previous_until_ms;                  // by the shards' clock
    uint64_t own[FEATURES_MAX][OPTIONS_OWN_MAX]; // values of features' options (option.h)
    struct users *users; // who may do what; the edition's. NULL, from the start to the end: everybody may all

    // These stay.
    const struct feature *const *features; // that there may be, by number (feature.h); NULL: none
    uint32_t shard_count;
    char http_host[64];    // of the listener of HTTP, as in a URI; empty: there is none
    uint16_t http_port;    // the one that was picked
    bool http_secure;      // over TLS
    bool share_addresses;  // with a hub that takes over: SIGTERM steps aside before it drains
    struct keeper *keeper; // starts the children; NULL: there can be none
    const char *journal;   // the audit journal's path; NULL: none is kept
    enum governance
        approval_level; // what requires this level or more is held until somebody approves it; 0: nothing
    struct hub_secrets secrets;
    uint32_t process;
    const struct hub_cluster *cluster; // NULL: there are no other hubs
    struct http_url collector_url; // of what gets spans (router/features/trace); an empty host: there is none
    const struct resolver *resolvers[FEATURES_MAX]; // of features that look names up, by number; NULL: none
    enum io_backend io;                             // what every shard opens
    uint64_t spin_ns, hold_ns;                      // as io_options
    const struct turn_bounds *bounds;               // NULL: as they are (turn_bounds_defaults)
    struct hub_sandbox sandbox; // of the hub itself: its walls are set before it says that it listens
    // Reads the configuration again over *fresh; false when it can't be used, and that has been said. NULL:
    // there is none to read.
    bool (*read_again)(void *context, struct hub_settings *fresh);
    void (*in_effect)(void *context); // what was read again is, for whoever asks from here on; or NULL
    void *read_context;
    void (*notice)(void *context, enum hub_notice notice); // of read_context, on shard 0; or NULL
    uint64_t watchdog_ms; // how often it is told that the hub is alive; 0: never
};

// Settings that took effect once, and those before them.
struct hub_edition {
    struct hub_settings settings;
    uint64_t number; // one more than of the edition before
    struct hub_edition *before;
};

struct hub {
    struct hub_settings settings; // as at the start; constant
    // The settings in effect: replaced by shard 0, taken up by each shard at its next turn, and kept until
    // the end because another shard may still be reading them.
    struct hub_edition *_Atomic edition;
    struct feature_set *features;         // that it has; constant
    struct feature_set *features_watched; // likewise, for shards whose messages are watched
    void *states
        [FEATURES_MAX];    // of features, by number (feature.h); NULL: the hub hasn't it, or it has no state
    struct shard **shards; // each is set by its own thread before any runs
    struct mailbox *mailboxes; // from shard * shard_count + to shard
    struct buffer_budget budget;
    _Atomic bool failed;            // something without which it can't go on has ended: the status is 1
    _Atomic uint64_t journal_bytes; // of entries on their way to the journal, counted by all shards
    _Atomic int journal_file;       // its number, for who looks whether it could be written
    _Atomic int journal_doubt; // why it couldn't, as some shard has found; 0: none has since shard 0 looked
    _Atomic bool journal_failing; // its last group could not be written; shard 0 says so
    _Atomic uint32_t **pending; // of [shard][slot]: requests that this connection owes, counted by all shards
    _Atomic uint64_t
        *unknown_oldest; // of [shard]: the number of the oldest of those without a credential, set by the
                         // shard once a turn; 0: there is none, or it has been asked to go
    _Atomic uint64_t unknown_count;  // who came without a credential has the next number, on whatever shard
    _Atomic uint64_t *taken_up;      // of [shard]: the number of the edition that it reads, set by the shard
    _Atomic uint32_t *connections;   // of [shard]: counted up by the acceptor, down by the shard
    _Atomic uint32_t *subscriptions; // of [shard]: entries in its table of topics, set by the shard
    _Atomic uint32_t presence_subscriptions; // of all shards, to events that the hub publishes of agents
    _Atomic uint32_t presence_hubs;          // other hubs with such subscriptions; shard 0 sets it
    struct subscriber_count *demand;         // all of them, counted by all shards; NULL: users aren't on
    // How shards agree which large frames give way near the bound of memory (pressure.c).
    _Atomic uint64_t *slowest;            // of [shard]: the rank of its slowest sender, set by the shard
    _Atomic uint64_t waiting_ms;          // when a shard last saw that a frame had waited for long
    _Atomic uint64_t give_way_ms;         // when a slow sender may be closed for it
    _Atomic uint64_t relieved_ms;         // when a shard last closed a slow reader
    uint64_t began_ms;                    // by the shards' clock; set before they run
    struct authn_throttle authn_throttle; // wrong credentials
    struct quota_shares shares;           // what peers have the hub keep, by user or address
    struct account *strangers;            // refusals of those of whom it isn't known who they are
    _Atomic uint32_t link_number;         // N of the link that stands, or stood last; shard 0 sets it
    _Atomic uint32_t hubs_unserved; // other hubs that speak another protocol, or have another REALM; likewise
    _Atomic uint32_t hubs_strict;   // other hubs that judge bodies wholly
    _Atomic uint64_t events_dropped; // that could not be published to other hubs
    _Atomic uint64_t events_unknown; // how often other hubs have lost events for subscribers of this one
    _Atomic uint64_t link_payload_bytes_max; // that the link's server lets pass; shard 0 sets it
    _Atomic uint64_t asked_ms;      // when somebody last asked how the hub is (survey.c); 0: nobody has
    _Atomic uint32_t phase;         // enum hub_phase
    _Atomic uint32_t phase_waiting; // shards that have not finished this phase
};

// Makes a hub; its settings are copied. 0 or -ENOMEM.
int hub_create(struct hub **out, const struct hub_settings *settings);
enum { HUB_LIMITS_FAULT_BYTES = 96 };
// Whether a running hub can take up limits. False where the memory is less than its shards need, or where what peers have the hub keep,
// which falls only when they leave, takes more than half of it: the hub might never be able to receive again. Writes what is expected.
bool hub_accepts_limits(const struct hub *hub, const struct limits *limits,
                        char expected[HUB_LIMITS_FAULT_BYTES]);
// Reads the configuration again, on shard 0's thread. False when it can't be used or memory is used up: the
// hub goes on as before.
bool hub_reload(struct hub *hub, uint64_t now_ms);
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

// The name under which peers and the journal know a connection, in hexadecimal digits. No two have the same,
// and nobody can tell from it another one's, or any secret of the hub.
enum { HUB_SESSION_BYTES = 2 * SIPHASH_BYTES };
void hub_session(const struct hub *hub, uint64_t connection, char *out);

// How many requests a connection owes: as groups_load, with the hub as context.
uint32_t hub_pending(const void *hub, uint64_t connection);
// Adds to it.
void hub_pending_add(struct hub *hub, uint64_t connection, int32_t change);
// The shard with the fewest connections.
uint32_t hub_emptiest_shard(const struct hub *hub);
// Connections of all shards together.
uint32_t hub_connection_count(const struct hub *hub);

// Writes the NODE under which other hubs know this one, which is the same until the process ends.
void hub_node(const struct hub *hub, char out[NODE_BYTES]);
// Tells the subscribers of all shards that events of other hubs have been lost.
void hub_lose_events(struct hub *hub);
