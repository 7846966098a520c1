// The closed loop of the load generator: sources that keep a fixed number of requests pending, targets that
// answer, all in one thread over one epoll. What each connection reads at once is handled at once and
// answered with one write.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/load/histogram.h"
#include "bench/load/wire.h"

struct load_plan {
    const struct load_wire *wire;
    const char *at; // the hub's URI, or HOST:PORT
    uint32_t sources, targets, depth;
    struct load_body body;
    bool plain_inbox;
};

// A request on its way. Ids run per source from 1 up, so they collide across sources; a request lies in the
// slot of its id's low bits, and an id whose slot is still taken is passed over.
struct load_slot {
    uint64_t id; // 0: free
    uint64_t sent_ns;
    uint8_t nonce[LOAD_NONCE_BYTES];
};

struct load_link {
    int socket;
    struct load_name name;
    uint8_t *in; // load.in_capacity bytes, of which `filled` are received and begin at a message's start
    size_t filled;
    uint8_t *out; // [out_at, out_end) waits to be written
    size_t out_at, out_end, out_capacity;
    bool waits_for_room; // EPOLLOUT is asked for

    struct load_slot *slots; // of a source; NULL for a target
    uint64_t next_id;
    uint32_t next_target;
};

struct load {
    struct load_plan plan;
    struct load_link *links; // the targets, then the sources
    uint32_t links_count;
    int epoll;
    size_t message_bytes_max, in_capacity;
    uint64_t slot_mask;

    bool issuing;   // an answer is followed by the next request
    bool recording; // answers count for the histogram
    struct histogram latency;
    uint64_t pending;
    uint64_t wrong;    // answers and requests that are not what they have to be
    const char *fault; // the load can't go on; static text
};

// Connects and greets all. 0 or -errno (load_wire.greet); load_close is due in either case.
int load_open(struct load *load, const struct load_plan *plan);
void load_close(struct load *load);
// Sends every source's first requests and from then on one for each answer, until load_stop.
void load_start(struct load *load);
void load_stop(struct load *load);
// Keeps the load going until load_now_ns() is `until_ns`, nothing is pending any more, or a fault.
void load_run(struct load *load, uint64_t until_ns);

// The monotonic clock.
uint64_t load_now_ns(void);
