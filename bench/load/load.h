// The core of the load generator, in one thread over one ring: it opens the connections, keeps the load going
// in a closed or an open loop, and counts. There are two exchanges: requests and answers, or events to
// subscribers.
//
// Closed loop: so many messages are on the way, and each that comes to its end is followed by the next. Open
// loop: messages are due at a fixed rate whatever happens, and their latency counts from when they were due.
// A server that stands still is charged for all messages that should have been sent meanwhile (Tene:
// coordinated omission).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bench/load/load_connection.h"
#include "bench/load/load_histogram.h"
#include "bench/load/load_wire.h"

struct load;
struct load_link;

struct load_plan {
    const struct load_wire *wire;
    const char *at; // the server's URI, or HOST:PORT
    // The wire and the address of sources where these are others; NULL: as the wire's rows say, and there.
    const struct load_wire *source_wire;
    const char *source_at;
    bool events;               // from one source to all targets; else requests
    uint32_t sources, targets; // publishers and subscribers, of events
    const char *
        program; // a command line: each target is such a program (load_program.h); NULL: the load's own connections
    uint32_t depth;        // most on the way from each source
    uint32_t in_flight;    // from all sources together, which then take turns; 0: depth of each
    double rate;           // open loop: messages a second from all sources; 0: closed loop
    uint32_t high_percent; // of the requests have high priority, the others low; 0: none has any
    uint32_t idle;         // connections that are greeted, and then are there
    uint32_t slow;         // targets beside the others, subscribed and never read
    struct load_body body;
    bool plain_inbox;
    bool trickle; // one connection after the other (load_epoll.h)
};

// A message on its way. Ids run per source from 1 up, so they collide across sources. A message lies in the
// slot of its id's low bits, and an id whose slot is still taken is passed over.
struct load_slot {
    uint64_t id; // 0: free
    uint64_t due_ns;
    uint32_t owed; // deliveries of an event that have not come
    bool high;
    uint8_t nonce[LOAD_NONCE_BYTES];
};

struct load_link {
    struct link link; // first: a table of these is a table of links
    struct load_name name;
    enum load_role role;
    const struct load_wire *wire; // that it speaks

    // Of a source
    struct load_slot *slots;
    uint64_t next_id;
    uint32_t next_target;
    uint32_t pending; // on the way
    uint64_t issued;  // in all

    uint64_t expected; // of a subscriber: the number of its next event
    pid_t program;     // of a target that is one; 0: it is a connection
};

struct load_exchange {
    // Writes a source's next message, which was due at `due_ns`.
    void (*issue)(struct load *load, struct load_link *source, uint64_t due_ns);
    // Reads a message that came.
    void (*take)(struct load *load, struct load_link *link, const struct load_message *message,
                 uint64_t now_ns);
};

enum { LOAD_ORDINARY, LOAD_HIGH, LOAD_CLASSES };

struct load {
    struct load_plan plan;
    const struct load_exchange *exchange;
    struct links links;
    // The targets, the sources, then those that idle and those that are slow.
    struct load_link *table;
    uint32_t table_count, opened;
    size_t message_bytes_max;
    uint64_t slot_mask;
    uint32_t next_source; // whose turn it is
    uint64_t begun_ns;    // open loop: when the first message was due
    uint64_t due_count;   // open loop: messages that were due by now

    bool issuing;   // a message that ended is followed by the next
    bool recording; // what ends counts for the histograms
    struct histogram latency[LOAD_CLASSES];
    uint64_t pending;
    uint64_t wrong;    // messages that are not what they have to be
    uint64_t lost;     // deliveries of events that were passed over
    const char *fault; // the load can't go on; static text
};

// Connects and greets targets and sources, in turns while there are both. With as many of the one kind as of
// the other, a hub of two shards that spreads connections evenly has all targets on one and all sources on
// the other. 0; -errno (load_wire.greet, or of io_uring with *why set); -EOPNOTSUPP when the protocol has no
// such exchange. load_close is due in either case.
int load_open(struct load *load, const struct load_plan *plan, const char **why);
// Connects and greets those that idle and those that are slow. 0 or -errno.
int load_open_others(struct load *load);
void load_close(struct load *load);
// Sends what is due at first and from then on whatever follows, until load_stop.
void load_start(struct load *load);
void load_stop(struct load *load);
// Keeps the load going until load_now_ns() is `until_ns`, nothing is pending any more, or a fault.
void load_run(struct load *load, uint64_t until_ns);

// The monotonic clock.
uint64_t load_now_ns(void);

// --- For the exchanges, and who opens them

static inline bool load_is_source(const struct load_link *link) {
    return link->role == LOAD_ASKS || link->role == LOAD_PUBLISHES;
}

// Ends the load early. The first fault stays.
void load_fail(struct load *load, const char *fault);
// Counts a message that is not what it has to be, and shows the first.
void load_count_wrong(struct load *load, const struct load_message *message);

// Where the next message may be written; NULL when memory is used up (a fault).
uint8_t *load_room(struct load *load, struct load_link *link);
// A free slot for the source's next message, with its id and nonce set.
struct load_slot *load_slot_take(struct load *load, struct load_link *source, uint64_t due_ns);
// The slot of a message on its way; NULL when it isn't.
static inline struct load_slot *load_slot_find(const struct load *load, const struct load_link *source,
                                               uint64_t id) {
    struct load_slot *slot = &source->slots[id & load->slot_mask];
    return id != 0 && slot->id == id ? slot : NULL;
}
// The message has come to its end: frees its slot, and what follows it is issued.
void load_settle(struct load *load, struct load_link *source, struct load_slot *slot, uint64_t now_ns);
// Notes when a message arrived, if it counts.
static inline void load_record(struct load *load, const struct load_slot *slot, uint64_t now_ns) {
    if (load->recording) {
        histogram_record(&load->latency[slot->high ? LOAD_HIGH : LOAD_ORDINARY],
                         now_ns > slot->due_ns ? now_ns - slot->due_ns : 0);
    }
}
