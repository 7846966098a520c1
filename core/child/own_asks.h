// The ids under which the hub itself asks a child something: one after the other, from the highest below 2^53 on, which
// ids of requests that are forwarded don't come to. Each is answered once. So many are remembered; the oldest goes
// for one more.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    OWN_ASKS_MAX = 4096,      // that are remembered
    OWN_ASKS_SPAN = 64 << 10, // ids until they come again
};

// Zero bytes: nothing was asked.
struct own_asks {
    uint64_t count; // how many there ever were
    uint64_t open[OWN_ASKS_MAX / 64];
};

// The id of the next one.
uint64_t own_asks_begin(struct own_asks *asks);
// An answer bears this id. False: nothing under it is owed.
bool own_asks_end(struct own_asks *asks, uint64_t id);
// It is another process, which owes nothing.
void own_asks_forget(struct own_asks *asks);
