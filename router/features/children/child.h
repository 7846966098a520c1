// A child: a program that the hub starts and keeps running. Its stub is the peer that stands for the program in the
// hub, whether the program runs or not.
//
//     IDLE ──message arrives──▶ STARTING ──plain──────────────────────────▶ RUNNING
//       ▲                        │  ▲  └──hermes──▶ GREETING ──answered────▶ │ │
//       │                        │  │                 │                      │ │
//       │                        ▼  │                 ▼                      │ │
//     (on demand)             ENDING, until the group is gone ◀──────────────┘ │
//       │                        │  ▲                                          │
//     WAITING ◀──────────────────┤  └────────── STOPPING ◀─────────────────────┘
//                                ▼
//                        DOWN, STOPPED, or freed
//
// Shard 0 has all children. A stub is closed only when its child is freed. When the program ends, the peer's end is
// carried out here (child_stub_ended), and the sockets of the next process are given to the connection later.
// Messages for the child wait meanwhile in the stub's outbox, which is held. ORDER_CHILD_STOPPED
// (router/registry/registry.h) ends the requests that the child owed, on all shards. If the hub itself has ended the
// program, requests that weren't sent survive. The next process isn't started before that order has come back, so all
// messages that wait then are for the next process.
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

// What follows when a child's process has ended.
enum child_after {
    CHILD_AFTER_END,   // the hub didn't ask for the end: the restart policy decides
    CHILD_AFTER_IDLE,  // nobody needed the child
    CHILD_AFTER_FRESH, // the child is started anew, with the newest settings
    CHILD_AFTER_STOP,  // the child stays stopped
    CHILD_AFTER_FREE,  // the child is freed
};

// Functions of router/features/mcp, which speaks the protocols of the programs.
struct child_ops {
    const struct transport *framed, *lines;
    // Ends the requests to an instance (child.of) whose process has ended. The registry doesn't know these requests.
    void (*rest)(struct shard *shard, struct peer *stub);
    // Writes the hub ids of requests to a stub that don't end with its process, though its queue doesn't have them.
    // Another peer has such a request, or, with `waiting`, the request waits elsewhere for the next process. Writes as
    // many as there is room for, and returns how many there are.
    size_t (*others)(const struct peer *stub, bool waiting, uint64_t *hub_ids, size_t room);
    // Writes the request with this id by which the hub opens a session anew, for the stub of a child that reopens.
    void (*put_reopening)(const struct peer *stub, struct text *body, uint64_t id);
};

struct child {
    struct child *next;  // in children.first
    struct list due;     // in due_of while the child may have work to do
    struct list *due_of; // struct children.due
    struct child_record *record;
    const struct child_settings *settings; // of the present process; one reference
    // Of the configuration, one reference; NULL: there is no section any more
    const struct child_settings *newest;
    bool removed; // no section has the child's name any more
    struct peer *stub;
    const struct child_ops *ops; // of router/features/mcp
    // With instances = each, the first child is a stand-in: it has the name, and never runs. Messages for the stand-in
    // go to the instance of their source (router/features/mcp/per_client.h).
    struct child *of;       // of an instance, or with `modern`: the first child; else NULL
    uint64_t user;          // of an instance: the connection that is its user
    uint32_t depth;         // how many instances are between this one and a user that is no instance
    uint32_t pending_count; // requests that the instance owes
    uint32_t instances;     // of a first child: how many instances exist
    uint32_t processes;     // of a first child: how many instances have a process
    // A process of an MCP server that clients share speaks one era. The first child speaks the legacy era, and another
    // child the modern era, on demand (router/features/mcp/mcp_modern.h).
    struct child *other; // of a first child: the child of the modern era; or NULL
    bool modern;         // this is the child of the modern era
    bool era_is_known;   // of that child, or of an instance: the program has the modern era
    bool era_probed;     // the program has ended when asked for that era, which is no failure
    bool no_modern;      // of a first child: the program lacks the modern era
    bool reopens;        // of an instance: the hub opens the user's session anew in the next process
    struct restart restart;
    uint32_t number; // among the children of a section; 0: the first child
    enum child_state state;
    enum child_after after;
    uint64_t running_ms; // since when the child runs; 0: it hasn't run since its start
    uint64_t junk_ms;    // when unreadable output was last logged
    uint32_t serial;     // the number of the present start
    uint32_t orders;     // orders to the registry that are under way
    enum child_fault fault;
    int32_t fault_number;
    int32_t status;   // of the process, as wait has it
    bool has_process; // the process group may have members
    bool has_status;
    bool had_requests;        // requests to the child had no answer when the process ended
    bool shutdown_requested;  // the child was asked to shut down, and hasn't answered
    bool is_wanted;           // the child must start for something that isn't in its stub's queue
    bool is_reading;          // the hub sends nothing more, and closes the input once all is sent
    bool input_gone;          // the program has closed its input
    bool is_shut;             // the hub has closed the program's input
    bool replaced;            // another program has this one's place (SIGHUP); users aren't told yet
    bool keeps_queue;         // unsent messages wait for the next process, as the hub ended this one
    bool rest_due;            // ORDER_CHILD_STOPPED couldn't be made yet, for want of memory
    struct outbox hub_outbox; // the hub's own messages to the program
    struct own_requests own;  // the hub's own requests to the program
};

// The member of a pool that serves a peer (child_mux.h).
struct pool_affinity {
    struct pool_affinity *next;
    uint64_t connection;
};

// The feature's state of a peer that is a child's stub, or that uses children.
struct child_peer {
    struct child *child;              // has the peer as its stub; NULL: none has, or the child has gone
    struct pool_affinity *affinities; // one for each pool that the peer has used
    struct mail *departure;           // tells shard 0 that a user of shared servers has gone; or NULL
};

// Returns the feature's state of a peer; or NULL.
static inline struct child_peer *child_peer_of(const struct peer *peer) {
    return peer_state(peer, FEATURE_CHILDREN);
}
// Returns the same state, and makes it if there is none. Returns NULL without memory.
static inline struct child_peer *child_peer_take(struct shard *shard, struct peer *peer) {
    struct child_peer *own = child_peer_of(peer);
    return own ? own : peer_state_take(shard, peer, FEATURE_CHILDREN, sizeof *own);
}
// Returns the child whose stub a peer is; NULL: the peer is no stub, or its child has gone.
static inline struct child *child_of_stub(const struct peer *stub) {
    const struct child_peer *own = child_peer_of(stub);
    return own ? own->child : NULL;
}
// Returns whether the child has a process, or will have one, to which the hub listens.
static inline bool child_is_up(const struct child *child) {
    return child->state >= CHILD_STARTING && child->state <= CHILD_STOPPING;
}
// Notes that the child may have work to do, so that child_settle is called in this turn or the next.
static inline void child_touch(struct child *child) {
    if (list_empty(&child->due))
        list_append(child->due_of, &child->due);
}
// Notes whether the child's process group may have members.
static inline void child_note_process(struct child *child, bool has) {
    if (child->of && has != child->has_process)
        child->of->processes += has ? 1 : UINT32_MAX;
    child->has_process = has;
}
// Returns whether the child is a stand-in for instances of its users.
static inline bool child_is_stand_in(const struct child *child) {
    return child->settings->each && !child->of;
}
// Returns whether the child is started only when a message arrives: by its section, or as the child of the modern era.
static inline bool child_is_on_demand(const struct child *child) {
    return child->settings->on_demand || child->modern;
}
// Sets the child's state, and shows the state in the record.
void child_set_state(struct child *child, enum child_state state);
// Shows the child's era in the record; MCP_ERAS_COUNT: none, or not known.
void child_show_era(struct child *child, enum mcp_era era);
// Writes a line about the child to the hub's log.
__attribute__((format(printf, 2, 3))) void child_log(const struct child *child, const char *format, ...);
// Arms the child's timer.
void child_wake_after(struct shard *shard, struct child *child, uint64_t ms);

// Starts the child, from IDLE or WAITING, unless the hub ends or too many instances have a process.
void child_start(struct shard *shard, struct child *child);
// Starts the child. A child on demand waits until a message arrives.
void child_begin(struct shard *shard, struct child *child);
// Notes that the child's process has been started: asks the child to initialize, or makes the child run.
void child_started(struct shard *shard, struct child *child, int32_t process);
// Notes that the child runs: registers the child and sends the messages that wait. `capabilities` and `answer` are
// JSON; NULL: none.
void child_ready(struct shard *shard, struct child *child, const struct piece *capabilities,
                 const struct piece *answer);
// Ends the child's process in good order; `after` tells what follows. Without a process `after` takes effect at once.
void child_stop(struct shard *shard, struct child *child, enum child_after after, const char *reason);
// Ends the child's process for this reason, unless the process is ending already. The first reason counts.
void child_fail(struct shard *shard, struct child *child, enum child_fault fault, int32_t number);
// Notes that the child's process has ended. Its last output is read first.
void child_exited(struct shard *shard, struct child *child);
// Carries out the end of a stub, which is marked (peer_teardown.c).
void child_stub_ended(struct shard *shard, struct peer *stub);
// Goes on with the child's start or end as far as the kernel, the keeper and the registry have finished. Returns false
// when the child has gone: the caller frees its memory.
bool child_settle(struct shard *shard, struct child *child);
// Returns whether the child has no work to do until it is touched.
bool child_is_quiet(const struct child *child);
// Handles the end of the child's timer.
void child_expire(struct shard *shard, struct peer *stub);
// Starts an idle child, for which a message waits.
void child_wanted(struct shard *shard, struct peer *stub);

// --- The hub's own messages to a child, which aren't in its stub's queue

// Sends a body, which is taken.
void child_send(struct shard *shard, struct child *child, struct text *body);
// Drops the hub's messages that weren't sent.
void child_withdraw(struct shard *shard, struct child *child);
// Goes on with sending, and closes the child's input behind the last message if is_reading.
void child_send_on(struct shard *shard, struct child *child);
// Asks a Hermes extension or an MCP server to initialize.
void child_initialize(struct shard *shard, struct child *child);
// Asks a Hermes extension to shut down.
void child_request_shutdown(struct shard *shard, struct child *child, const char *reason);
// Returns whether a body is the answer to a request of the hub's own (child->own), and ends that request.
bool child_answers_own(struct child *child, const struct lookup *lookup, const uint8_t *body);
// Sets *out to the absolute path of a Hermes extension's data, in memory of the caller's; NULL for other children.
// Returns 0, -ENOMEM, or -ENOENT if neither the section nor a variable names a directory.
int child_data_directory(const struct child_settings *settings, char **out);
// Has the keeper start the child's program. Returns 0, or a failure as io_start.
int child_launch(struct shard *shard, struct child *child, int *in, int *out);
// Sends the keeper a command about the child's process, if there is one. Returns false if the keeper doesn't keep up.
// KEEPER_END, which follows each other command, is sent again then (child_exit.c).
bool child_command(struct shard *shard, struct child *child, uint32_t kind, uint32_t value);
