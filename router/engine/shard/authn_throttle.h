// Counts wrong credentials by address, and tells how long each refusal is delayed. One table for all shards, without a
// lock. The table is bounded: an address that other addresses have pushed out begins anew.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    AUTHN_THROTTLE_COUNT = 4096,
    AUTHN_THROTTLE_DELAY_MS = 100, // the first delay; each further delay is twice as long
    AUTHN_THROTTLE_DELAY_MAX_MS = 5000,
    AUTHN_THROTTLE_FORGOTTEN_MS = 60000,
};

// Zeroed, the table is empty.
struct authn_throttle {
    _Atomic uint64_t slots[AUTHN_THROTTLE_COUNT];
};

// Counts one more wrong credential from `address_hash`, a hash of the address. Returns the delay in ms.
uint32_t authn_throttle_add(struct authn_throttle *authn_throttle, uint64_t address_hash, uint64_t now_ms);
