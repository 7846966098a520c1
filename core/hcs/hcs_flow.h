// Flow control of an HCS producer. The producer is told to pause when it has no clients, or when more than half of the
// clients that count are over. The producer is told to go on when neither is true.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hcs_flow_state {
    HCS_FLOW_READS,
    HCS_FLOW_OVER, // reason: backpressure
    HCS_FLOW_GONE, // reason: user_busy
};

struct hcs_flow {
    uint32_t clients;
    uint32_t stuck; // clients that have read nothing for long; such clients don't count
    uint32_t over;  // other clients that are over or have paused
    enum hcs_flow_state told;
};

// Returns the state that the producer should know.
enum hcs_flow_state hcs_flow_state(const struct hcs_flow *flow);

// Adds one client to the counts (change 1), or removes one (change -1).
void hcs_flow_count(struct hcs_flow *flow, bool over, bool stuck, int change);

// --- Shed chunks
//
// Decides when a client of an HCS session reads too slowly, and which chunks are shed then.
//
// A client is over from half of its queue's bound until less than a quarter waits. Chunks of the finest level of
// detail, `atomic`, are shed while half or more waits. Chunks of the middle level, `micro`, are shed from three
// quarters on. Other chunks are never shed. When the client is no longer over, the hub reports how many were shed.

// A chunk's level of detail. A chunk of an unknown level isn't shed.
enum stream_lod { LOD_KEPT, LOD_MICRO, LOD_ATOMIC };

// Chunks of one session that were shed for one client. Zeroed: none.
struct shed {
    uint32_t atomic;
    uint32_t micro;
    uint64_t from, to; // the seqs of the first and the last shed chunk
};

// Returns whether a client is over with `waiting` bytes in the queue, by whether the client was over `before`.
bool shed_is_over(bool before, size_t waiting, size_t queue_max);
// Returns whether a chunk is shed with `waiting` bytes in the queue.
bool shed_drops(enum stream_lod lod, size_t waiting, size_t queue_max);
void shed_note(struct shed *shed, enum stream_lod lod, uint64_t seq);
static inline bool shed_any(const struct shed *shed) {
    return shed->atomic || shed->micro;
}
