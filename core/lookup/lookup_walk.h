// The walk over a body, which fills a lookup in but for its kind and what follows from that. Not for anyone but
// lookup.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/lookup/lookup.h"

// The result of a walk, beside the fields that it found.
struct walked {
    uint32_t seen; // bit k: key k came, if only its key
    bool ascii;    // all of the body
    bool batch;    // it begins as an array
    bool broken;   // it isn't JSON, as far as it was judged; the lookup's verdict says so
};

// Walks any body. `lookup` has a good verdict and nothing present; a verdict that isn't good, with where and why, and
// the fields are written there.
struct walked lookup_walk(struct lookup *lookup, const uint8_t *body, uint32_t bytes, bool strict);
