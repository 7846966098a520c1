// The ids of the hub's own requests to a child. The ids go down from the highest below 2^53, which ids of forwarded
// requests never reach. Each request has one response. A bounded number of ids is remembered; a new id replaces the
// oldest.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    OWN_REQUESTS_MAX = 4096,      // ids remembered
    OWN_REQUESTS_SPAN = 64 << 10, // ids until they repeat
};

// Zeroed: no request was made.
struct own_requests {
    uint64_t count; // requests made in all
    uint64_t open[OWN_REQUESTS_MAX / 64];
};

// Begins a request. Returns its id.
uint64_t own_requests_begin(struct own_requests *requests);
// Ends the request with this id, at its response. Returns false if no request with this id is open.
bool own_requests_end(struct own_requests *requests, uint64_t id);
// Forgets all ids, because the child's new process owes no responses.
void own_requests_forget(struct own_requests *requests);
