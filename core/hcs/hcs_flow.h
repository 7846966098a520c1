// Flow control of an HCS producer: the producer is told to pause when it has no clients, or when more than half of those
// that count are over. The producer is told to go on when that has ended.
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
    uint32_t stuck; // of them, that have taken nothing for long: these don't count
    uint32_t over;  // of the others, that are over or have paused
    enum hcs_flow_state told;
};

// Returns the state that the producer should have been told.
enum hcs_flow_state hcs_flow_state(const struct hcs_flow *flow);

// Puts one client into the counts, or takes it out (change -1).
void hcs_flow_count(struct hcs_flow *flow, bool over, bool stuck, int change);

// --- Shed chunks
//
// Tells when a client of an HCS session reads too slowly, and which chunks are then shed.
//
// A client is over from half of its queue's bound until less than a quarter waits. Chunks of the finest level
// of detail, `atomic`, are shed for it while half or more waits, those of the middle one, `micro`, from three
// quarters on. No other chunk is shed. A client that is under again is told how many were.

// The level of detail of a chunk. A chunk of an unknown level isn't shed.
enum stream_lod { LOD_KEPT, LOD_MICRO, LOD_ATOMIC };

// Chunks of one session that one client misses. Zeroed: none.
struct shed {
    uint32_t atomic;
    uint32_t micro;
    uint64_t from, to; // the seqs of the first and the last
};

// Whether who was over, or not, is over now that so much waits for it.
bool shed_is_over(bool before, size_t waiting, size_t queue_max);
// Whether a chunk is shed while so much waits.
bool shed_drops(enum stream_lod lod, size_t waiting, size_t queue_max);
void shed_note(struct shed *shed, enum stream_lod lod, uint64_t seq);
static inline bool shed_any(const struct shed *shed) {
    return shed->atomic || shed->micro;
}
