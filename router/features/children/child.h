// A child: a program that the hub starts and keeps, and its seat: the peer that speaks for it, running or not.
//
//     IDLE ──something comes──▶ STARTING ──plain──────────────────────────▶ RUNNING
//       ▲                        │  ▲  └──hermes──▶ GREETING ──it answers──▶ │ │
//       │                        │  │                 │                      │ │
//       │                        ▼  │                 ▼                      │ │
//     (on demand)             ENDING, until all of it is gone ◀──────────────┘ │
//       │                        │  ▲                                          │
//     WAITING ◀──────────────────┤  └────────── STOPPING ◀─────────────────────┘
//                                ▼
//                        DOWN, STOPPED, or freed
//
// Children live on shard 0. A seat is never closed but when its child is freed: when the program ends, the peer's end
// is carried out here (child_seat_ended), and its connection is plugged into the next one's sockets later. Messages for
// the child wait meanwhile in its outbox, which is held. Requests that it owed when it ended are answered on all shards
// by ORDER_REST (router/registry/registry.h), but not what hadn't gone out when the hub itself ended it; the next one
// isn't started before that has come back, so that whatever waits then is for the next one.
#pragma once

#include "core/child/child_settings.h"
#include "core/child/own_requests.h"
#include "core/lookup/lookup.h"
#include "core/mcp/mcp_message.h"
#include "router/engine/shard/peer.h"
#include "router/features/children/child_record.h"
#include "router/features/feature_list.h"

// The feature's own counters and gauges (children.c).
enum children_counter {
    CHILDREN_COUNT_STARTED,
    CHILDREN_COUNT_ENDED,
    CHILDREN_COUNT_FAILED,
    CHILDREN_COUNTERS
};

enum children_gauge { CHILDREN_GAUGE_RUNNING, CHILDREN_GAUGE_DOWN, CHILDREN_GAUGE_OTHER, CHILDREN_GAUGES };

struct children;
struct mail;

// The next step after an end that the hub itself has asked for.
enum child_after {
    CHILD_AFTER_END,   // it was its own: the policy says
    CHILD_AFTER_IDLE,  // nobody needed it
    CHILD_AFTER_FRESH, // it is started anew, as the configuration says now
    CHILD_AFTER_STOP,  // it stays stopped
    CHILD_AFTER_FREE,  // there is no such child any more
};

// How programs are spoken with.
struct child_ops {
    const struct transport *framed, *lines;
    // The program of an instance of one user's has ended, and won't answer what it was asked, which the registry doesn't
    // know.
    void (*rest)(struct shard *shard, struct peer *seat);
    // Writes hub ids of requests to a seat that aren't in its queue, and yet don't end with it. Another peer has them, which
    // lasts, or, where `waiting`, they wait for the next one elsewhere. Writes as many as there is room for, and returns how
    // many there are.
    size_t (*others)(const struct peer *seat, bool waiting, uint64_t *hub_ids, size_t room);
    // Writes the request, under this id, by which the hub opens the session anew of a seat whose child reopens.
    void (*put_reopening)(const struct peer *seat, struct text *body, uint64_t id);
};

struct child {
    struct child *next;  // of all
    struct list due;     // in due_of, as long as it may have something to do
    struct list *due_of; // struct children.due
    struct child_record *record;
    const struct child_settings *settings; // of what runs; one reference
    const struct child_settings *newest; // what the configuration says, one reference; NULL: nothing any more
    bool removed;                        // no section has its name any more
    struct peer *seat;
    const struct child_ops *ops; // by which it is spoken with
    // Where each of its users has an instance of its own (instances = each), the first one has the name and
    // never runs. Messages for it go to the instance of their source (router/features/mcp/per_client.h).
    struct child *of;       // of such an instance: that first one; NULL: it is none
    uint64_t user;          // whose it is: a connection
    uint32_t depth;         // how many instances stand between it and a peer that is none
    uint32_t pending_count; // that it owes its user
    uint32_t instances;     // of the first one: how many there are, up to their very end
    uint32_t processes;     // likewise: how many of them have one
    // A server of MCP that clients share speaks one era a process: the first one that of sessions, and another one
    // the modern, on demand (router/features/mcp/mcp_modern.h).
    struct child *other; // of a first one: that instance of it; NULL: there is none
    bool modern;         // it is such an instance
    bool era_is_known;   // then, or of a user's instance: that era is the program's
    bool era_probed;     // it ended at a question whether it has that era: no failure
    bool no_modern;      // of a first one: it isn't
    bool
        reopens; // of a user's own server of MCP: the hub opens that user's session anew when it starts again
    struct restart restart;
    uint32_t number; // among all of its name: 0 is the first
    enum child_state state;
    enum child_after after;
    uint64_t running_ms; // since when; 0: not at all
    uint64_t junk_ms;    // when what can't be read was last shown
    uint32_t serial;     // of the start
    uint32_t orders;     // of the registry, under way
    enum child_fault fault;
    int32_t fault_number;
    int32_t status;   // of the process, as of wait
    bool has_process; // somebody of its group may be left
    bool has_status;
    bool had_requests; // something when it ended, and not all that it said had come to where it was asked
    bool shutdown_requested;  // to shut down, and has not answered
    bool is_wanted;           // by something that doesn't wait in its seat's queue
    bool is_reading;          // nothing more is to be sent to it: its input is closed once all is sent
    bool input_gone;          // it has closed its input
    bool is_shut;             // its input is closed
    bool replaced;            // by another program (SIGHUP), of which those who use it don't know yet
    bool keeps_queue;         // what hasn't gone out waits for the next one, as the hub itself ended this one
    bool rest_due;            // there was no memory for the order
    struct outbox hub_outbox; // what the hub itself says to it
    struct own_requests own;  // and asks
};

// The member of a pool that has served a peer (child_mux.h).
struct pool_affinity {
    struct pool_affinity *next;
    uint64_t connection;
};

// State of a peer that is a child's seat, or that uses programs.
struct child_peer {
    struct child *child;              // whose seat it is; NULL: it is none, or its child is no more
    struct pool_affinity *affinities; // one for each pool that it has used
    struct mail *departure; // that tells shard 0 that it has gone, of a user of shared servers; or NULL
};

// NULL: nothing is kept.
static inline struct child_peer *child_peer_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_CHILDREN);
}
// The same, made if there is none; NULL without memory.
static inline struct child_peer *child_peer_take(struct shard *shard, struct peer *peer) {
    struct child_peer *own = child_peer_of(peer);
    return own ? own : peer_state_take(shard, peer, FEATURE_CHILDREN, sizeof *own);
}
// The child whose seat a peer is; NULL: it is none, or its child is no more.
static inline struct child *child_of_seat(const struct peer *seat) {
    const struct child_peer *own = child_peer_of(seat);
    return own ? own->child : NULL;
}
// Whether a process of its own is there, or will be, and is listened to.
static inline bool child_is_up(const struct child *child) {
    return child->state >= CHILD_STARTING && child->state <= CHILD_STOPPING;
}
// Notes that the child may have something to do: it is looked at this turn or the next (child_settle).
static inline void child_touch(struct child *child) {
    if (list_empty(&child->due))
        list_append(child->due_of, &child->due);
}
// Notes whether somebody of its group may be left.
static inline void child_note_process(struct child *child, bool has) {
    if (child->of && has != child->has_process)
        child->of->processes += has ? 1 : UINT32_MAX;
    child->has_process = has;
}
// Whether it only stands for instances of its users.
static inline bool child_is_stand_in(const struct child *child) {
    return child->settings->each && !child->of;
}
// Whether it waits until something comes, as its section says or as others have its name.
static inline bool child_is_on_demand(const struct child *child) {
    return child->settings->on_demand || child->modern;
}
// Sets its state, for all to see.
void child_set_state(struct child *child, enum child_state state);
// The era that it speaks, likewise; MCP_ERAS_COUNT: none, or that isn't known.
void child_show_era(struct child *child, enum mcp_era era);
// A line of the hub's log about it.
__attribute__((format(printf, 2, 3))) void child_log(const struct child *child, const char *format, ...);
// Arms its timer.
void child_wake_after(struct shard *shard, struct child *child, uint64_t ms);

// Starts it, from IDLE or WAITING.
void child_start(struct shard *shard, struct child *child);
// Starts it, or waits until something comes for it, as its section says.
void child_begin(struct shard *shard, struct child *child);
// Notes that the child has been started: greets it, or is ready.
void child_started(struct shard *shard, struct child *child, int32_t process);
// Notes that the child runs: parcels that wait for it go out. `capabilities` and `answer` are JSON; NULL:
// none.
void child_ready(struct shard *shard, struct child *child, const struct piece *capabilities,
                 const struct piece *answer);
// Ends what runs of it, in good order; `after` says what comes then. At once where nothing runs.
void child_stop(struct shard *shard, struct child *child, enum child_after after, const char *reason);
// Notes that the child has ended, or ends it now: for this reason.
void child_fail(struct shard *shard, struct child *child, enum child_fault fault, int32_t number);
// Notes that its process has ended: its last output comes first.
void child_exited(struct shard *shard, struct child *child);
// Carries out the end of a seat, which is marked (peer_teardown.c).
void child_seat_ended(struct shard *shard, struct peer *seat);
// Goes on with an end as far as the kernel, the keeper and the registry have let go. False when it is no more: its memory
// is to be given back.
bool child_settle(struct shard *shard, struct child *child);
// Whether nothing is to be done about it until it is touched.
bool child_is_quiet(const struct child *child);
// Handles the end of the child's timer.
void child_expire(struct shard *shard, struct peer *seat);
// Something waits for it.
void child_wanted(struct shard *shard, struct peer *seat);

// --- The hub's own messages to a child, past its queue

// Sends a body, which is taken over.
void child_send(struct shard *shard, struct child *child, struct text *body);
// Takes back what has not gone out.
void child_withdraw(struct shard *shard, struct child *child);
// Goes on with that, and with closing its input.
void child_send_on(struct shard *shard, struct child *child);
// Asks a hermes child to initialize, or to shut down.
void child_initialize(struct shard *shard, struct child *child);
void child_request_shutdown(struct shard *shard, struct child *child, const char *reason);
// Whether a body is the answer to one of these, or to something else that it was asked under an id of child->own; then it
// owes that no more.
bool child_answers_own(struct child *child, const struct lookup *lookup, const uint8_t *body);
// Where a hermes child's data lie, as an absolute path: memory of the caller's; NULL for others. 0, -ENOMEM, or
// -ENOENT when nothing says where.
int child_data_directory(const struct child_settings *settings, char **out);
// Has the keeper start it. 0 or as io_start.
int child_launch(struct shard *shard, struct child *child, int *in, int *out);
// Tells the keeper something about what runs of it; false where that doesn't keep up. KEEPER_END, which follows
// on all else, is told again then (child_exit.c).
bool child_command(struct shard *shard, struct child *child, uint32_t kind, uint32_t value);
