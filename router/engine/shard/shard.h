// The state of one core: a thread with a ring, memory and tables of its own. The path of a frame takes no lock.
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
// Bounds of a peer without a credential: the bytes of a frame, and the members of an array that may come before the
// member with a credential. The members' refusals wait together until the array is done.
enum { UNAUTHENTICATED_FRAME_BYTES_MAX = 64 * 1024, UNAUTHENTICATED_MEMBERS_MAX = 64 };

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
    TIMER_JOURNAL,
    TIMER_WATCHDOG,
    TIMER_LOG
};

// Tokens of io. A peer's token is its slot. These lie above all slots, and the tokens of features (feature.h) lie above
// these.
#define TOKEN_LISTENER (UINT64_C(1) << 40)
#define TOKEN_SIGNALS  (UINT64_C(1) << 41)
#define TOKEN_JOURNAL  (UINT64_C(1) << 42)

struct claim_table;
struct feature_set;
struct journal;
struct publication;
struct transport;

// Publications kept in reserve, so that missed events are known by name though there is no memory.
enum { RESERVE_COUNT = 8 };

struct peer_slots {
    struct peer **slots;
    uint32_t *generations;
    uint32_t *free; // a stack of free slots
    uint32_t free_count;
    uint32_t capacity; // grows by doubling up to the limit of connections
    uint32_t count;
};

enum { ACCEPT_WAITS_MAX = 64 };

enum { FANOUT_ROUNDS_MAX = 511 }; // fits peer.fanout_round

// Sends of events that go to many peers, which are begun a part at a time (send.c).
struct fanout_sends {
    struct list waiting; // of struct peer.to_send: peers for whom these events alone wait
    struct list marker;  // an element of `waiting`: the present pass ends there
    uint32_t passes;     // how many passes have ended
    uint32_t out;        // sends under way that began since `since_ns`
    uint32_t round;      // the number of the round in which these sends began (peer.fanout_round)
    uint64_t since_ns;
    uint64_t bytes; // the bytes of all events that were offered to many peers
};

// How the shard's time is shared among the peers that send (engine/turn/read_fairness.c).
struct read_fairness {
    // Lists of struct deficit.link: peers that wait for their first time, and peers that have used up their share.
    struct list new_peers, in_deficit;
    uint32_t count;              // the length of both lists
    uint32_t waiting;            // arrivals of these peers that wait
    struct deficit *spare;       // a free element, or NULL
    uint64_t from_ns;            // the clock when the present arrival began to be read
    bool is_clock_stale;         // other work was done since from_ns
    uint64_t until_ns;           // when this turn ends reading
    bool may_stop_between_units; // the reading of the arrival may stop between two units
    bool had_fanout;             // a message went to many peers since the last look
    bool is_serving;             // this turn goes on with the peers that wait
    bool buffers_reduced;        // the kernel has few buffers, since many arrivals wait
    bool skipped_last_turn;      // the turn before did not read the peers in deficit
    struct turn_parts parts;     // of large frames, which are received straight into their own memory
};

struct shard {
    uint32_t magic;
    uint32_t index;
    struct hub *hub;
    struct io *io;
    const struct hub_settings *settings; // the settings in effect in this turn
    const struct feature_set *features;  // hub.features or hub.features_watched (feature.h)
    uint64_t now_ms;                     // by io_now (shard_now_ms)
    uint32_t minute;                     // the minute since the start (shard_minute)
    uint64_t wall_s, wall_asked_ns;      // shard_wall_s, and io_now when it was asked
    struct unit_limits unit_limits;
    struct unit_limits unauthenticated_limits; // of peers whose user isn't known

    struct quota quota;
    struct quota connection_quota; // memory of the connections themselves, bounded by --max-connections
    struct buffer_pool buffers;
    struct parcel_pool parcels;
    struct sender sender;

    struct peer_slots peers;
    struct agents agents;
    struct pending_table pending;
    struct wheel wheel;
    struct stats stats;
    struct survey survey;

    const uint8_t *fault_bytes; // the bytes with a framing error, while the error is told
    uint32_t fault_count;

    struct account_leases account_leases; // of users' accounts, for this turn

    struct event_run event_run;
    // Lost events of which subscribers must be told (router/events/event_fanout.h)
    struct publication *missed;
    struct publication *reserve; // free elements for `missed`, made with the shard
    uint32_t missed_count;
    uint32_t missed_unnamed; // lost events whose names aren't kept
    // Agents that have come or gone since the last publication (router/registry/presence.h). The last shard's alone.
    struct presence_queue {
        struct list changes;
        uint32_t count;                    // changes in the list or on their way to subscribers
        size_t capabilities_bytes;         // of the capabilities that these changes hold
        uint32_t missed_came, missed_went; // agents for which there was no room in the list
    } presence;
    struct rejects rejects;
    // The state of each feature, by number (feature.h); NULL: the feature is absent or has no state.
    void *states[FEATURES_MAX];
    uint32_t sending_us; // the clock when the present sends are handed to the kernel
    struct list to_send; // of struct peer.to_send
    struct turn_bounds bounds;
    struct fanout_sends fanout_sends;
    struct read_fairness read_fairness;
    struct list
        starved; // of struct peer.by_receive_wait: peers that wait for a receive buffer, or for memory
    // Of struct peer.by_receive_wait: rationed peers that wait for their turn to be received (receive.c)
    struct list receive_queue;
    bool receives_due; // the next turn can resume peers that wait
    // Of struct peer.by_receive_wait: peers whose TLS handshake waits for a turn (tls_receive.c)
    struct list waiting_handshakes;
    uint32_t handshake_steps; // steps of TLS handshakes in this turn
    struct list slow_readers; // of struct peer.by_lifecycle
    struct list closing;      // of struct peer.by_lifecycle
    struct list abandoned;    // of struct pending.by_source: requests whose source has left
    uint32_t ends_left;       // how many abandoned requests may still end in this turn
    struct list
        unauthenticated; // of struct identity.unauthenticated: peers without a credential, oldest first
    bool review_due;     // a peer has something that only its former rights allow (rights_review.h)
    struct peer *teardown, **teardown_last; // peers that must end, linked by peer.ending (peer_teardown.h)
    struct list exchanges;                  // of struct exchange.link
    struct freelist free_exchanges;
    uint64_t relief_ms;          // when the shard may next free memory by force (pressure.c)
    struct timer shrink_timer;   // armed while the pools have unused memory (pressure.c)
    struct timer journal_timer;  // of shard 0: armed while entries wait to be written once more (journal.c)
    struct timer refusals_timer; // armed while refusals are counted that the journal lacks (audit.c)
    struct timer slow_reader_timer; // armed while slow_readers isn't empty (slow_reader.c)
    uint64_t refused;               // the budget's refusals at the last look (pressure.c)
    struct mail *orders;            // deferred until the mail before these orders is read (inbox.c)
    struct mail **orders_last;
    struct mail *loopback_mail, **loopback_mail_last; // mail that this shard has posted to itself (post_mail)

    enum hub_phase phase;          // the phase that this shard is in
    bool phase_done;               // this shard has finished its phase
    bool drain_over;               // the time for pending requests (--drain) is over
    uint32_t orders_out;           // orders of this shard that are under way
    struct journal_entry *entries; // journal entries made in this turn
    struct journal_entry **entries_last;
    // Entries that have come back, written or not, and wait for their sources to be told
    struct journal_entry *settled;
    uint32_t entries_out; // journal entries of this shard that are under way
    uint32_t events_out;  // events of this shard's peers on which some shard has yet to report
    struct timer drain_timer;

    // Of the acceptor (shard 0) alone.
    int listeners[LISTENERS_MAX];
    const struct transport *transports[LISTENERS_MAX]; // of each listener
    bool secure[LISTENERS_MAX];                        // the listener speaks TLS
    bool listening[LISTENERS_MAX];                     // an accept is armed at the listener
    // The service manager passed the socket, and passes it to the next hub
    bool passed[LISTENERS_MAX];
    struct timer watchdog_timer;
    struct timer log_timer;          // armed while lines of the log were left out (io/log.h)
    uint64_t turns_seen[SHARDS_MAX]; // [shard]: its turns at the last look (watchdog.c)
    bool handed_over;                // the listeners accept nothing more
    uint32_t listener_count;
    bool lacks_places;      // the last connection was refused for --max-connections, which has been logged
    bool lacks_descriptors; // the last accept found no free descriptor, which has been logged
    struct timer accept_timer;
    // Sockets that wait, at the limit of connections, until a connection without a credential has been closed
    // (accept.c).
    struct accept_wait {
        int socket;
        bool secure;
        const struct transport *transport;
        uint64_t until_ms, ask_ms; // when the wait ends; when another connection is asked to close
    } accept_waits[ACCEPT_WAITS_MAX];
    uint32_t accept_wait_count;
    struct journal *journal; // NULL: the hub keeps no journal
    // What this shard's requests to other hubs need (router/forwarding/remote_target.c).
    struct remote_link {
        // Of the link, with the requests that other hubs must answer; connection 0: the link is down
        struct registrant registrant;
        struct hub_name hub;           // this hub's name under that link
        struct answer_subject answers; // the subject for answers to this hub
        // The part of hub.events_unknown of which this shard's subscribers were told
        uint64_t events_unknown;
        // The last sourceAgent that was found to be the connection's own agent, and the registry's version then. Bytes
        // 0: none.
        uint64_t source_connection, source_changes;
        uint32_t source_name_bytes;
        char source_name[AGENT_ID_BYTES_MAX];
    } remote_link;
    // Registrations that wait for other hubs (router/registry/claim_table.h); NULL: there are no other hubs.
    struct claim_table *claims;
    // Orders that wait for the NATS server, oldest first (router/features/cluster/name_claim.c).
    struct list barrier;
    struct list directory_queries; // queries to all other hubs, oldest first (router/registry/directory.h)
    struct list attach_queries;    // queries of hub/attach, oldest first (router/routing/remote_attach.h)
    uint32_t remote_queries_out;   // queries of this shard's peers under way: of these kinds and hub/pending

    // The shard's thread sets this before it sleeps, and clears this. Other threads read this: a sleeping shard needs a
    // doorbell.
    alignas(CACHE_LINE_BYTES) _Atomic bool asleep;
};

// Opens a shard on the calling thread, with an io of its own. Returns 0, or -errno with *why set to static text.
int shard_open(struct shard **out, struct hub *hub, uint32_t index, const char **why);
// Closes the shard on its own thread, after the last turn of all shards and after the journal. Asserts that all memory
// was given back.
void shard_close(struct shard *shard);
// Takes the new number of the link to other hubs, and this hub's new name.
void shard_set_hub(struct shard *shard);
// Notes that the link stands, with this connection, and takes its number (shard_set_hub).
void shard_set_link(struct shard *shard, uint64_t connection);
// Takes the settings in effect. Returns false if the shard had them already.
bool shard_take_settings(struct shard *shard);
// Returns how many buffers the shard provides to the kernel, by the settings.
uint32_t shard_buffers_provided(const struct shard *shard);
// Returns how many of these buffers the kernel may have in this turn: a quarter while many arrivals wait to be read.
uint32_t shard_buffers_now(const struct shard *shard);

// Wakes another shard if that shard sleeps. The wake takes effect when this shard hands its work to the kernel.
void shard_wake(struct shard *shard, uint32_t other);
// Wakes all other shards that sleep.
void shard_wake_others(struct shard *shard);
// Counts an event that had no line in the log (log_write returned false). The count is logged within a second.
void shard_note_suppressed(struct shard *shard);

static inline uint64_t shard_now_ms(const struct shard *shard) {
    assert(shard->now_ms == io_now(shard->io) / 1000000);
    return shard->now_ms;
}
// Returns the minute since the start, from 1 on.
static inline uint32_t shard_minute(const struct shard *shard) {
    return shard->minute;
}
// Reads io_now into the shard's clock. Must be called whenever io_now has changed.
void shard_read_clock(struct shard *shard);
// Returns the seconds since the beginning of 1970 by the wall clock. The first call of a turn reads the clock.
static inline uint64_t shard_wall_s(struct shard *shard) {
    uint64_t now_ns = io_now(shard->io);
    if (!shard->wall_s || shard->wall_asked_ns != now_ns) {
        shard->wall_s = io_wall_ms(shard->io) / 1000;
        shard->wall_asked_ns = now_ns;
    }
    return shard->wall_s;
}
// Returns the low 32 bits of the clock in ms, as peers keep it: differences of up to 49 days are right.
static inline uint32_t shard_tick(const struct shard *shard) {
    return (uint32_t)shard_now_ms(shard);
}
// Returns how many milliseconds ago that tick was.
static inline uint32_t shard_since(const struct shard *shard, uint32_t tick) {
    return shard_tick(shard) - tick;
}
// Returns the clock in microseconds, as parcels are stamped (parcel_pool.now_us).
static inline uint32_t shard_us(uint64_t clock_ns) {
    return (uint32_t)(clock_ns / 1000);
}
static inline const struct limits *shard_limits(const struct shard *shard) {
    assert(shard->magic == SHARD_MAGIC);
    return &shard->settings->limits;
}
