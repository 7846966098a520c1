// Scenes of the torture tests: they bring every part of the hub's memory and traffic into use, and go on
// whatever fails on the way.
#pragma once

#include "tests/sim/party.h"

struct act {
    const char *name;
    void (*play)(struct scene *);
    uint32_t window_bytes; // what the kernel keeps for a peer that doesn't read; 0: plenty
    uint64_t queue_bytes;  // the bound of an outbox; 0: the default
    const char *journal;   // the audit journal's file, or NULL
};

extern const struct act acts[];
extern const unsigned acts_count;
