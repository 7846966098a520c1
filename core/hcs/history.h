// The last chunks of an HCS session by seq, within a bound of bytes. Chunks are numbered in the order in which they
// came, including chunks that were dropped. A client's place in the session is the number of the next chunk for the
// client.
//
// A chunk refers to a parcel of the caller's. The caller drops the parcel when the history returns it.
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
    uint64_t first;    // the numbers of the stored chunks: first to end - 1
    uint64_t end;
    size_t bytes;        // bytes of the stored chunks
    uint64_t last_seq;   // seq of the last chunk that came; valid if end > 0
    uint64_t lost_seq;   // seq of the last chunk that was dropped; valid if first > 0
    struct quota *quota; // the quota of the ring's memory
};

void history_init(struct history *history, struct quota *quota);
// Ends the history, which must be empty.
void history_deinit(struct history *history);

// Returns whether this seq is above that of all chunks so far.
static inline bool history_rises(const struct history *history, uint64_t seq) {
    return history->end == 0 || seq > history->last_seq;
}
// Adds a chunk whose seq rises. Returns false without memory: the chunk gets a number, but isn't stored. If
// history_reserve has failed, the caller must first empty the history with history_take.
bool history_add(struct history *history, struct chunk chunk);
// Makes room for one more chunk. Returns false without memory.
bool history_reserve(struct history *history);
// Removes the oldest chunk if more than bytes_max are stored. Returns its parcel, now the caller's; NULL: none.
struct parcel *history_trim(struct history *history, size_t bytes_max);
// Removes the oldest chunk. Returns its parcel, now the caller's; NULL: none.
struct parcel *history_take(struct history *history);
static inline const struct chunk *history_at(const struct history *history, uint64_t number) {
    return number >= history->first && number < history->end
               ? &history->ring[number & (history->capacity - 1)]
               : NULL;
}
// Returns the number of the first stored chunk with a greater seq, or `end`.
uint64_t history_after(const struct history *history, uint64_t seq);
// Returns whether a chunk with a greater seq was dropped.
static inline bool history_lacks(const struct history *history, uint64_t seq) {
    return history->first > 0 && seq < history->lost_seq;
}
