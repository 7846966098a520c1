#include "core/child/own_asks.h"

#include <assert.h>
#include <string.h>

static const uint64_t highest = (UINT64_C(1) << 53) - 1;

static_assert(OWN_ASKS_SPAN % OWN_ASKS_MAX == 0, "an id tells its bit");

uint64_t own_asks_begin(struct own_asks *asks) {
    uint64_t at = asks->count++ % OWN_ASKS_SPAN, bit = at % OWN_ASKS_MAX;
    asks->open[bit / 64] |= UINT64_C(1) << bit % 64;
    assert(asks->count > 0);
    return highest - at;
}

bool own_asks_end(struct own_asks *asks, uint64_t id) {
    if (id > highest || highest - id >= OWN_ASKS_SPAN)
        return false;
    uint64_t at = highest - id, bit = at % OWN_ASKS_MAX;
    uint64_t since = (asks->count + OWN_ASKS_SPAN - 1 - at) % OWN_ASKS_SPAN; // how many came after it
    assert(since < OWN_ASKS_SPAN);
    if (since >= OWN_ASKS_MAX || since >= asks->count || !(asks->open[bit / 64] >> bit % 64 & 1))
        return false;
    asks->open[bit / 64] &= ~(UINT64_C(1) << bit % 64);
    return true;
}

void own_asks_forget(struct own_asks *asks) {
    assert(asks);
    memset(asks, 0, sizeof *asks);
}
