// Walks a body of the most frequent form, in fewer steps than the walk over any body (lookup_walk.h). For
// lookup_body.c alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/lookup/lookup.h"
#include "core/lookup/lookup_walk.h"

// Walks an object of up to 32 KiB without faults and ambiguities, as lookup_walk does in the lazy depth. Returns false
// for any other body, or if this walk can't decide. `lookup` is then unchanged, except for the values of fields that
// aren't present.
bool lookup_quick(struct lookup *lookup, const uint8_t *body, uint32_t bytes, struct walked *walked);
