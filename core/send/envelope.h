// Envelopes: the bytes around a body on its way out, by the receiver's wire.
#pragma once

#include "core/send/parcel.h"

// Writes what stands before a body of so many bytes that came without header fields; returns its length,
// PARCEL_HEAD_BYTES_MAX at most.
size_t envelope_head(const struct wire *wire, char *out, size_t body_bytes);
// Puts the envelope on, for a receiver of this wire. The body's line breaks become what the wire makes of them
// (line_breaks.h), and nobody else may read the body any more. A share is the exception: its origin must have none, or be
// made for such receivers (parcel_broken_for).
void parcel_dress(struct parcel *parcel, const struct wire *wire);
// Dresses a body of several parcels, `bytes` in all, from first to last; `behind` is put at its end.
void parcel_dress_chain(struct parcel *first, const struct wire *wire, size_t bytes, const char *behind);
