// Rewrites line breaks in bodies, for receivers whose wire gives line breaks a meaning (enum wire_breaks).
#pragma once

#include "core/send/parcel.h"

// Returns whether the body has a line break.
bool parcel_breaks(const struct parcel *parcel);
// Returns whether one body of a frame run has a line break. `body` is a span of the run.
bool frame_run_has_break(const struct parcel *parcel, struct span body);

// Writes the body with its line breaks rewritten for this wire. Returns the length in bytes. Without `to` the function
// only counts.
size_t line_breaks_write(const struct wire *wire, const uint8_t *body, size_t count, char *to);

// Makes a copy of the body, in text of its own, with the line breaks rewritten for this wire. Receivers of the wire get
// shares of the copy. Returns NULL without memory or room in the budget.
struct parcel *parcel_broken_for(struct parcel_pool *pool, const struct parcel *parcel,
                                 const struct wire *wire);
// Makes such a copy of a frame run. `bodies` are `count` spans of the run in rising order; the function makes them
// spans of the copy. A share of the copy must be narrowed (parcel_narrow).
struct parcel *frame_run_broken_for(struct parcel_pool *pool, const struct parcel *parcel,
                                    const struct wire *wire, struct span *bodies, unsigned count);

// Rewrites the line breaks of an unencoded body for this wire, unless the body is a copy that was made for the wire.
// Split lines need memory; without memory the line breaks become spaces, which mean the same to a reader of JSON.
void line_breaks_settle(struct parcel *parcel, const struct wire *wire);
