// The answers to one JSON-RPC batch (JSON-RPC 2.0 section 6): held until all that are due have come, then
// sent as one array, in the order in which they came.
//
// What is due: one answer for each request, and one for each member that can't be read. Each of them ends in
// batch_answer or in batch_miss. The array is a chain of parcels, so that no body is copied but those
// so small that holding their buffer would cost more.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "router/shard/peer.h"

struct batch;

// Opens one for what a peer sent; NULL when memory is used up. The peer isn't closed in good order before it
// has ended.
struct batch *batch_open(struct shard *shard, struct peer *peer);
// All members have been routed.
void batch_close(struct shard *shard, struct batch *batch);

// One more answer is due.
void batch_expect(struct batch *batch);
// Whether an answer of so many bytes still fits the array, which may be as large as a frame that comes in.
// What is due can always be answered with an error.
bool batch_has_room(const struct shard *shard, const struct batch *batch, size_t bytes);
// How many bytes that are.
size_t batch_room(const struct shard *shard, const struct batch *batch);
// An answer that was due came: a parcel that is taken, undressed.
void batch_answer(struct shard *shard, struct batch *batch, struct parcel *parcel);
// An answer that was due won't come.
void batch_miss(struct shard *shard, struct batch *batch);

// Of the peers that have a batch since `opened_ms` or before, the one whose batches' answers hold most, and
// `bytes_min` at least; NULL when there is none.
struct peer *batch_holder(const struct shard *shard, uint64_t opened_ms, uint64_t bytes_min);
