// The last chunks of an HCS session, within a bound of bytes, by seq. Chunks are numbered in the order in
// which they came, also those that aren't there any more. A client's place in the session is the number of
// the next chunk that the client gets.
//
// A chunk is a pointer of the caller's here. The caller lets it go when it has been handed back.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/quota.h"

struct parcel;

struct chunk {
    struct parcel *parcel;
    uint64_t seq;
    size_t bytes;
};

struct history {
    struct chunk *ring;
    uint32_t capacity; // a power of two, or 0
    uint64_t first;    // the numbers of those that are there, from first up to but without end
    uint64_t end;
    size_t bytes;        // of them
    uint64_t last_seq;   // of the last that came; valid where end > 0
    uint64_t lost_seq;   // of the last that isn't there any more; valid where first > 0
    struct quota *quota; // the account of the ring
};

void history_init(struct history *history, struct quota *quota);
// Ends the history, which must be empty.
void history_deinit(struct history *history);

// Whether a chunk of this seq comes behind all that came before.
static inline bool history_rises(const struct history *history, uint64_t seq) {
    return history->end == 0 || seq > history->last_seq;
}
// Adds one that rises. False without memory: then it has its number and isn't there, and nothing else is any
// more either; history_oldest must have emptied it before.
bool history_add(struct history *history, struct chunk chunk);
// Makes room for one more. False without memory.
bool history_reserve(struct history *history);
// Takes the oldest out, if there are more than bytes_max; its parcel is the caller's. NULL: none.
struct parcel *history_trim(struct history *history, size_t bytes_max);
// Takes the oldest out, whatever there is. NULL: none.
struct parcel *history_take(struct history *history);
static inline const struct chunk *history_at(const struct history *history, uint64_t number) {
    return number >= history->first && number < history->end
               ? &history->ring[number & (history->capacity - 1)]
               : NULL;
}
// The number of the first chunk that is there and whose seq is above, or end.
uint64_t history_after(const struct history *history, uint64_t seq);
// Whether some chunk whose seq is above isn't there any more.
static inline bool history_lacks(const struct history *history, uint64_t seq) {
    return history->first > 0 && seq < history->lost_seq;
}
