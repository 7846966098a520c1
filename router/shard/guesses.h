// Wrong credentials, by where they come from: how long each waits for its answer. One table for all shards, without a
// lock. It is bounded: an address that others have pushed out begins anew.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

enum {
    GUESSES_COUNT = 4096,
    GUESS_DELAY_MS = 100, // of the first, and twice as long for each that follows
    GUESS_DELAY_MAX_MS = 5000,
    GUESS_FORGOTTEN_MS = 60000,
};

// Zero bytes are a table of none.
struct guesses {
    _Atomic uint64_t slots[GUESSES_COUNT];
};

// One more from there, `origin` being a hash; how many milliseconds it waits.
uint32_t guesses_add(struct guesses *guesses, uint64_t origin, uint64_t now_ms);
