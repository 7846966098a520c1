// What an HCS producer is told of its clients: to pause when there are none, or when more than half of those
// that count are over, and to go on when it isn't so any more.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum crowd_mood {
    CROWD_READS,
    CROWD_OVER, // reason: backpressure
    CROWD_GONE, // reason: user_busy
};

struct crowd {
    uint32_t clients;
    uint32_t stuck; // of them, that have taken nothing for long: these don't count
    uint32_t over;  // of the others, that are over or have paused
    enum crowd_mood told;
};

// What the producer should have been told.
enum crowd_mood crowd_mood(const struct crowd *crowd);

// Puts one client into the counts, or takes it out (change -1).
void crowd_count(struct crowd *crowd, bool over, bool stuck, int change);
