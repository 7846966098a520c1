// The requests that wait in an outbox, by their hub ids: a cancel takes one out in the same time however many
// wait. The outbox makes it when a cancel comes to a long queue, and drops it when the queue is empty.
#pragma once

#include <stdint.h>

struct parcel;

struct outbox_index {
    uint32_t bits;            // there are 2^bits buckets
    uint32_t count;           // of the requests in them
    struct parcel *buckets[]; // chained by parcel.same_bucket
};

// An empty one with room for `requests`; NULL when memory is used up.
struct outbox_index *outbox_index_create(uint32_t requests);
void outbox_index_destroy(struct outbox_index *waiting);
static inline uint64_t outbox_index_room(const struct outbox_index *waiting) {
    return UINT64_C(2) << waiting->bits;
}
// Puts in a parcel that has a hub id.
void outbox_index_put(struct outbox_index *waiting, struct parcel *parcel);
// Takes out what is in it.
void outbox_index_take_out(struct outbox_index *waiting, struct parcel *parcel);
// NULL when no request waits under this hub id.
struct parcel *outbox_index_find(const struct outbox_index *waiting, uint64_t hub_id);
