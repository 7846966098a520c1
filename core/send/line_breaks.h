// Line breaks in bodies, for receivers whose wire has a meaning of its own for them (enum wire_breaks).
#pragma once

#include "core/send/parcel.h"

// Whether there is a line break in the body.
bool parcel_breaks(const struct parcel *parcel);
// Whether there is one in a body of a stretch: a span of it.
bool parcel_stretch_breaks(const struct parcel *parcel, struct span body);

// Writes a body in which the line breaks are what this wire makes of them; returns its length. Without `to` it is
// only counted.
size_t line_breaks_write(const struct wire *wire, const uint8_t *body, size_t count, char *to);

// A copy of the body, in text of its own, in which the line breaks are what this wire makes of them: origin of shares
// for its receivers. NULL when memory or the budget is used up.
struct parcel *parcel_broken_for(struct parcel_pool *pool, const struct parcel *parcel,
                                 const struct wire *wire);
// Makes a copy of a stretch for receivers of this wire. `bodies` are `count` spans of the stretch in rising order,
// which become spans of the copy. Shares of it are to be narrowed.
struct parcel *parcel_stretch_broken_for(struct parcel_pool *pool, const struct parcel *parcel,
                                         const struct wire *wire, struct span *bodies, unsigned count);

// Makes of the breaks in an undressed body what this wire does; nothing in a copy that was made for it. To split
// lines takes memory; where that is used up they are joined by spaces, which is the same to a reader of JSON.
void line_breaks_settle(struct parcel *parcel, const struct wire *wire);
