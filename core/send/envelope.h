// Envelopes: the bytes that a receiver's wire puts before and behind a body.
#pragma once

#include "core/send/parcel.h"

// Writes the wire's head for a body of `body_bytes` that came without header fields. Returns the head's length in
// bytes, PARCEL_HEAD_BYTES_MAX at most.
size_t envelope_head(const struct wire *wire, char *out, size_t body_bytes);
// Adds the envelope of this wire to the parcel, and rewrites the line breaks of the body as the wire needs
// (line_breaks.h). No other receiver may read the body afterwards. A share is the exception: its original's body must
// have no line breaks, or the original must be made for such receivers (parcel_broken_for).
void parcel_encode(struct parcel *parcel, const struct wire *wire);
// Adds the envelope to a body of several parcels, from `first` on, which have `bytes` in all. Adds the text `behind` to
// the end of the body.
void parcel_encode_chain(struct parcel *first, const struct wire *wire, size_t bytes, const char *behind);
