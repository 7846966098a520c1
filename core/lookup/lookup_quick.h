// The walk over a body of the shape that nearly all have, in fewer steps than the walk over any (lookup_walk.h). Not
// for anyone but lookup.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/lookup/lookup.h"
#include "core/lookup/lookup_walk.h"

// Walks an object of up to 32 KiB in which nothing is broken, and nothing ambiguous, as
// lookup_walk would in the lazy depth. False when it is anything else, or can't be told here: `lookup` is then as it
// was, but for the values of fields that aren't present.
bool lookup_quick(struct lookup *lookup, const uint8_t *body, uint32_t bytes, struct walked *walked);
