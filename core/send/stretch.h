// Small bodies that came side by side, made ready once for all receivers of a wire. Receivers get shares of
// one text, in which each body has its envelope and the line breaks of the wire.
#pragma once

#include "core/send/parcel.h"

// Writes `count` bodies, spans of the stretch in rising order, so that it is dressed for this wire, and to ends[] where
// each ends. A share of it is sent as it is, or shortened. NULL when memory or the budget is used up.
struct parcel *stretch_dressed(struct parcel_pool *pool, const struct parcel *stretch,
                               const struct wire *wire, const struct span *bodies, uint32_t *ends,
                               unsigned count);
