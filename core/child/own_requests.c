#include "core/child/own_requests.h"

#include <assert.h>
#include <string.h>

static const uint64_t highest = (UINT64_C(1) << 53) - 1;

static_assert(OWN_REQUESTS_SPAN % OWN_REQUESTS_MAX == 0, "an id tells its bit");

uint64_t own_requests_begin(struct own_requests *requests) {
    uint64_t at = requests->count++ % OWN_REQUESTS_SPAN, bit = at % OWN_REQUESTS_MAX;
    requests->open[bit / 64] |= UINT64_C(1) << bit % 64;
    assert(requests->count > 0);
    return highest - at;
}

bool own_requests_end(struct own_requests *requests, uint64_t id) {
    if (id > highest || highest - id >= OWN_REQUESTS_SPAN)
        return false;
    uint64_t at = highest - id, bit = at % OWN_REQUESTS_MAX;
    uint64_t since =
        // Requests begun after this request
        (requests->count + OWN_REQUESTS_SPAN - 1 - at) % OWN_REQUESTS_SPAN;
    assert(since < OWN_REQUESTS_SPAN);
    if (since >= OWN_REQUESTS_MAX || since >= requests->count || !(requests->open[bit / 64] >> bit % 64 & 1))
        return false;
    requests->open[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    return true;
}

void own_requests_forget(struct own_requests *requests) {
    assert(requests);
    memset(requests, 0, sizeof *requests);
}
