// Walks any body and fills a lookup in, except its kind and what depends on the kind. For lookup_body.c alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/lookup/lookup.h"

// The result of a walk, besides the fields in the lookup.
struct walked {
    uint32_t seen; // bit k: key k occurred, even without a value
    bool ascii;    // all of the body is ASCII
    bool batch;    // the body begins as an array
    bool broken;   // the judged part of the body isn't JSON; the lookup's verdict gives the fault
};

// Walks any body. `lookup` must have a good verdict and no key present. Writes the fields to `lookup`, and a bad
// verdict with its place and reason.
struct walked lookup_walk(struct lookup *lookup, const uint8_t *body, uint32_t bytes, bool strict);
