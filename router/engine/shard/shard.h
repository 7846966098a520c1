// One core's share of the hub: a thread, a ring, memory and tables of its own. Nothing on a frame's way takes
// a lock.
#pragma once

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/agents/agents.h"
#include "core/base/buffer.h"
#include "core/base/hash_table.h"
#include "core/base/list.h"
#include "core/base/quota.h"
#include "core/base/wheel.h"
#include "core/cluster/subject.h"
#include "core/requests/pending.h"
#include "core/rights/account.h"
#include "core/send/event_run.h"
#include "core/send/parcel.h"
#include "core/wire/frame.h"
#include "io/connection.h"
#include "io/io.h"
#include "router/engine/shard/hub.h"
#include "router/engine/shard/mailbox.h"
#include "router/engine/shard/rejects.h"
#include "router/engine/shard/stats.h"
#include "router/engine/shard/survey.h"

enum { SHARD_MAGIC = 0x70627368 };
// Bounds of a peer without a credential: bytes of a frame, and members of an array that may come before one that
// bears a credential, as their refusals wait together for the last one.
enum { UNKNOWN_FRAME_BYTES_MAX = 64 * 1024, UNKNOWN_MEMBERS_MAX = 64 };

// The kind of a timer tells which struct has the timer in it. Timers of features have kinds of their own (feature.h).
enum timer_kind {
    TIMER_PENDING,
    TIMER_PEER,
    TIMER_ACCEPT,
    TIMER_DRAIN,
    TIMER_SHRINK,
    TIMER_SLOW_READER,
    TIMER_TRANSPORT,
    TIMER_SURVEY,
    TIMER_IDENTITY,
    TIMER_REFUSALS,
    TIMER_WATCHDOG,
    TIMER_LOG
};

// Tokens: a peer's is its slot; these lie above all slots, and those of features (feature.h) above these.
#define TOKEN_LISTENER (UINT64_C(1) << 40)
#define TOKEN_SIGNALS  (UINT64_C(1) << 41)
#define TOKEN_JOURNAL  (UINT64_C(1) << 42)

struct claim_table;
struct feature_set;
struct journal;
struct publication;
struct transport;

// Missed events that are known by their names though there is no memory.
enum { RESERVE_COUNT = 8 };

struct peer_slots {
    struct peer **slots;
    uint32_t *generations;
    uint32_t *free; // slots, as a stack
    uint32_t free_count;
    uint32_t capacity; // grows by doubling up to the limit of connections
    uint32_t count;
};

enum { ACCEPT_WAITS_MAX = 64 };

enum { SPREAD_ROUNDS_MAX = 511 }; // fits peer.spread_round

// Events that go to many go out in parts (send.c).
struct spreading {
    struct list waiting; // struct peer.to_send, of those for whom nothing else waits
    struct list marker;  // in it: the pass under way goes as far
    uint32_t passes;     // that have ended
    uint32_t out;        // sends under way that were begun since `since_ns`
    uint32_t round;      // of those, as struct peer.spread_round
    uint64_t since_ns;
    uint64_t bytes; // of events that were offered to many, in all
};

// How the shard's time is shared among those who send to it (engine/turn/read_fairness.c).
struct share {
    struct list fresh,
        in_deficit;        // struct deficit.link: who waits for the first time, and those who have had theirs
    uint32_t count;        // of both
    uint32_t waiting;      // arrivals of theirs
    struct deficit *spare; // or NULL
    uint64_t from_ns;      // the clock when what came last was begun with
    bool stale;            // something else was done since
    uint64_t until_ns;     // when this turn has read enough
    bool cuts;             // what is being read may be cut short between two units
    bool heavy;            // since it was last looked at, something went to many
    bool goes_on;          // with those who wait, in this turn
    bool skipped;          // the turn before left what was owing alone
    struct turn_parts parts; // of what is received straight into its own memory
};

struct shard {
    uint32_t magic;
    uint32_t index;
    struct hub *hub;
    struct io *io;
    const struct hub_settings *settings; // those in effect in this turn
    const struct feature_set *features;  // of the hub (feature.h)
    bool request_is_watched;             // a feature that watches looks at the request that is made ready
    uint64_t now_ms;                     // by io_now (shard_now_ms)
    uint32_t minute;                     // likewise (shard_minute)
    struct unit_limits unit_limits;
    struct unit_limits unknown_limits; // of those of whom it isn't known who they are

    struct quota quota;
    struct quota places; // what connections take by being there: --max-connections bounds that
    struct buffer_pool buffers;
    struct parcel_pool parcels;
    struct sender sender;

    struct peer_slots peers;
    struct agents agents;
    struct pending_table pending;
    struct wheel wheel;
    struct stats stats;
    struct survey survey;

    const uint8_t *fault_bytes; // what a framing error was found in, while that is told
    uint32_t fault_count;

    struct account_leases account_leases; // of users, in this turn

    struct event_run run;
    struct publication *missed;  // to be told to their subscribers (router/events/event_fanout.h)
    struct publication *reserve; // for more of them, made with the shard
    uint32_t missed_count;
    uint32_t missed_unnamed; // events that are known by number alone
    // Agents that have come or gone, of whom it isn't told yet (router/registry/presence.h). The last shard's.
    struct presence_queue {
        struct list changes;
        uint32_t count;                    // of changes, in the list or on their way to subscribers
        size_t capabilities_bytes;         // that these hold
        uint32_t missed_came, missed_went; // for which there was no room
    } presence;
    struct rejects rejects;
    void *states
        [FEATURES_MAX];  // of features, by number (feature.h); NULL: the hub hasn't it, or it has no state
    uint32_t sending_us; // the clock when what is to be sent now is handed over
    struct list to_send; // struct peer.to_send
    struct turn_bounds bounds;
    struct spreading spreading;
    struct share share;
    struct list starved;      // struct peer.starved
    struct list shaking;      // likewise; their handshakes wait for a turn (tls_receive.c)
    uint32_t shakes;          // steps of handshakes in this turn
    struct list slow_readers; // struct peer.standing
    struct list closing;      // struct peer.standing
    struct list abandoned;    // struct pending.by_source, of those who have left
    uint32_t ends_left;       // how many of these may still end in this turn
    struct list unknown;      // struct identity.unknown, oldest first
    bool review_due;          // somebody has come to have what rights before gave it (rights_review.h)
    struct peer *teardown, **teardown_last; // marked; linked by peer.ending (peer_teardown.h)
    struct list exchanges;                  // struct exchange.link
    struct freelist free_exchanges;
    uint64_t relief_ms;          // when memory may be won back again (pressure.c)
    struct timer shrink_timer;   // armed while memory lies at rest (pressure.c)
    struct timer journal_timer;  // of shard 0: armed while the journal lacks entries that failed (journal.c)
    struct timer refusals_timer; // armed while the journal hasn't been told of all refusals (audit.c)
    struct timer slow_reader_timer; // armed while anybody is waited for (slow_reader.c)
    uint64_t refused;               // of the budget's refusals, how many were known then
    struct mail *orders;            // deferred until the mail before them is read (inbox.c)
    struct mail **orders_last;
    struct mail *own_mail, **own_mail_last; // that this shard has posted to itself (post_mail)

    enum hub_phase phase;          // as this shard has seen it
    bool phase_done;               // this shard has finished it
    bool drain_over;               // its time for what is pending has passed
    uint32_t orders_out;           // of this shard's orders, how many are under way
    struct journal_entry *entries; // for the journal, made in this turn
    struct journal_entry **entries_last;
    struct journal_entry *settled; // that have come home, and nobody has been told yet
    uint32_t entries_out;          // of this shard's entries of the journal, likewise
    uint32_t events_out;           // of the events of its peers, those that not all shards have reported on
    struct timer drain_timer;

    // The acceptor's alone (shard 0).
    int listeners[LISTENERS_MAX];
    const struct transport *transports[LISTENERS_MAX]; // what is spoken there
    bool secure[LISTENERS_MAX];                        // and over TLS
    bool listening[LISTENERS_MAX];                     // an accept is armed
    bool passed[LISTENERS_MAX];                        // the next hub will have it, too
    struct timer watchdog_timer;
    struct timer log_timer;          // armed while events had no line in the log (io/log.h)
    uint64_t turns_seen[SHARDS_MAX]; // of each shard, at the last look (watchdog.c)
    bool stands_aside;               // nothing more is accepted from these
    uint32_t listener_count;
    bool lacks_descriptors; // the last accept failed for that, and it has been said
    struct timer accept_timer;
    // At the limit of connections, those that wait until others without a credential have gone (accept.c).
    struct accept_wait {
        int socket;
        bool secure;
        const struct transport *transport;
        uint64_t until_ms, ask_ms; // when somebody is asked to go for it, again
    } accept_waits[ACCEPT_WAITS_MAX];
    uint32_t accept_wait_count;
    struct journal *journal; // NULL: the hub keeps none
    // Requests of this shard to other hubs, and how they leave (router/forwarding/remote_target.c).
    struct across {
        struct home home;              // of the link: what it owes; connection 0: it is down
        struct hub_name hub;           // this hub's name under that link
        struct answer_subject answers; // where it takes answers
        uint64_t events_unknown;       // of hub.events_unknown, that this shard's subscribers have been told
        // In whose name a connection said something last, while the registry was so: that agent is its own. Bytes 0: nobody's.
        uint64_t source_connection, source_changes;
        uint32_t source_name_bytes;
        char source_name[AGENT_ID_BYTES_MAX];
    } across;
    struct claim_table
        *claims; // registrations, other hubs (router/registry/claim_table.h); NULL: there are none
    struct list
        barrier; // orders that wait for its server, oldest first (router/features/cluster/name_claim.c)
    struct list directory_queries; // to all other hubs, likewise (router/registry/directory.h)
    struct list attach_queries;    // hub/attach, likewise (router/routing/remote_attach.h)
    uint32_t remote_queries_out;   // of this shard's peers, of these kinds and hub/pending

    // Set by the thread that falls asleep, cleared by itself; others look whether it needs a doorbell.
    alignas(CACHE_LINE_BYTES) _Atomic bool asleep;
};

// Opens a shard on the calling thread, with an io of its own. 0 or -errno, with *why set to static text.
int shard_open(struct shard **out, struct hub *hub, uint32_t index, const char **why);
// Closes it after the last turn of all shards and when its journal is closed, on its own thread; asserts that
// all memory has come home.
void shard_close(struct shard *shard);
// The link to other hubs has a new number, and this hub a new name.
void shard_set_hub(struct shard *shard);
// The link stands, with this connection.
void shard_set_link(struct shard *shard, uint64_t connection);
// Takes up the settings that are in effect now; false when it had them already.
bool shard_take_settings(struct shard *shard);
// How many buffers it lends to the kernel, by the settings.
uint32_t shard_buffers_provided(const struct shard *shard);

// Wakes another shard if it sleeps; takes effect when this one hands its work to the kernel.
void shard_wake(struct shard *shard, uint32_t other);
// Wakes all other shards that sleep.
void shard_wake_others(struct shard *shard);
// An event had no line in the log (log_write returned false): their number is told within a second.
void shard_note_suppressed(struct shard *shard);

static inline uint64_t shard_now_ms(const struct shard *shard) {
    assert(shard->now_ms == io_now(shard->io) / 1000000);
    return shard->now_ms;
}
// The minute, from 1 on.
static inline uint32_t shard_minute(const struct shard *shard) {
    return shard->minute;
}
// Must be called whenever io_now has changed.
void shard_read_clock(struct shard *shard);
// The low bits of it, of which peers keep some: good for times of up to 49 days.
static inline uint32_t shard_tick(const struct shard *shard) {
    return (uint32_t)shard_now_ms(shard);
}
// How many milliseconds ago that was.
static inline uint32_t shard_since(const struct shard *shard, uint32_t tick) {
    return shard_tick(shard) - tick;
}
// The time that the stamps of parcels are held against (parcel_pool.now_us).
static inline uint32_t shard_us(uint64_t clock_ns) {
    return (uint32_t)(clock_ns / 1000);
}
static inline const struct limits *shard_limits(const struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    return &shard->settings->limits;
}
