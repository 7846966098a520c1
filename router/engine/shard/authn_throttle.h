// Wrong credentials, by the address that they come from: how long each waits for its answer. One table for
// all shards, without a lock. The table is bounded: an address that others have pushed out begins anew.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    AUTHN_THROTTLE_COUNT = 4096,
    AUTHN_THROTTLE_DELAY_MS = 100, // of the first, and twice as long for each that follows
    AUTHN_THROTTLE_DELAY_MAX_MS = 5000,
    AUTHN_THROTTLE_FORGOTTEN_MS = 60000,
};

// Zero bytes are a table of none.
struct authn_throttle {
    _Atomic uint64_t slots[AUTHN_THROTTLE_COUNT];
};

// One more from there, `origin` being a hash; how many milliseconds it waits.
uint32_t authn_throttle_add(struct authn_throttle *authn_throttle, uint64_t origin, uint64_t now_ms);
