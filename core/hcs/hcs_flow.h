// What an HCS producer is told of its clients: to pause when there are none, or when more than half of those
// that count are over, and to go on when it isn't so any more.
#pragma once

#include <stdbool.h>
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

// What the producer should have been told.
enum hcs_flow_state hcs_flow_state(const struct hcs_flow *flow);

// Puts one client into the counts, or takes it out (change -1).
void hcs_flow_count(struct hcs_flow *flow, bool over, bool stuck, int change);
