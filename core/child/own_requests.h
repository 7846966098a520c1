// The ids of the hub's own requests to a child: one after the other, from the highest below 2^53 on, which
// ids of forwarded requests don't come to. Each request is answered once. A bounded number is remembered; the
// oldest goes for one more.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    OWN_REQUESTS_MAX = 4096,      // that are remembered
    OWN_REQUESTS_SPAN = 64 << 10, // ids until they come again
};

// Zero bytes: nothing was asked.
struct own_requests {
    uint64_t count; // how many there ever were
    uint64_t open[OWN_REQUESTS_MAX / 64];
};

// The id of the next one.
uint64_t own_requests_begin(struct own_requests *requests);
// An answer bears this id. False: nothing under it is owed.
bool own_requests_end(struct own_requests *requests, uint64_t id);
// Forgets all ids: the child is another process, which owes nothing.
void own_requests_forget(struct own_requests *requests);
