// The floods that there are.
#pragma once

#include "bench/flood/flood.h"

extern const struct flood_kind *const flood_kinds[]; // the last is NULL
// NULL: there is none of that name.
const struct flood_kind *flood_named(const char *name);
