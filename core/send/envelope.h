// What stands around a body on its way out, by the receiver's wire.
#pragma once

#include "core/send/parcel.h"

// Puts the envelope on, for a receiver of this wire. It needs no memory. Where the wire has one line a body,
// the body's line breaks become spaces where they lie: nobody else may read it. A share is the exception: its
// origin must have none (parcel_breaks).
void parcel_dress(struct parcel *parcel, const struct wire *wire);
// The same for a body of several parcels, `bytes` in all, from first to last; `behind` is put at its end.
void parcel_dress_chain(struct parcel *first, const struct wire *wire, size_t bytes, const char *behind);
// Whether there is a line break in the body.
bool parcel_breaks(const struct parcel *parcel);
// Whether there is one in a body of a stretch: a span of it.
bool parcel_stretch_breaks(const struct parcel *parcel, struct span body);
// As parcel_copy_of, with a space in place of each byte of a line break: those of a stretch's header blocks,
// too.
struct parcel *parcel_flat(struct parcel_pool *pool, const struct parcel *parcel);
