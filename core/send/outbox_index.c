#include "core/send/outbox_index.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/send/parcel.h"

enum { BITS_MIN = 6 };

struct outbox_index *outbox_index_create(uint32_t requests) {
    uint32_t bits = BITS_MIN;
    while (UINT64_C(1) << bits < requests)
        bits++;
    size_t bytes = sizeof(struct parcel *) << bits;
    struct outbox_index *waiting = memory_take(sizeof *waiting + bytes);
    if (!waiting)
        return NULL;
    *waiting = (struct outbox_index){.bits = bits};
    memset(waiting->buckets, 0, bytes);
    return waiting;
}

void outbox_index_destroy(struct outbox_index *waiting) {
    memory_give(waiting);
}

// Fibonacci hashing: the top bits of the product. Hub ids are the hub's own, so nobody can choose a bucket.
static uint64_t bucket_of(const struct outbox_index *waiting, uint64_t hub_id) {
    assert(hub_id && waiting->bits >= BITS_MIN && waiting->bits < 64);
    return hub_id * UINT64_C(0x9E3779B97F4A7C15) >> (64 - waiting->bits);
}

void outbox_index_put(struct outbox_index *waiting, struct parcel *parcel) {
    assert(parcel->hub_id);
    struct parcel **bucket = &waiting->buckets[bucket_of(waiting, parcel->hub_id)];
    parcel->same_bucket = *bucket;
    *bucket = parcel;
    waiting->count++;
}

void outbox_index_take_out(struct outbox_index *waiting, struct parcel *parcel) {
    assert(parcel->hub_id && waiting->count > 0);
    struct parcel **link = &waiting->buckets[bucket_of(waiting, parcel->hub_id)];
    while (*link != parcel) {
        assert(*link); // it is in its bucket
        link = &(*link)->same_bucket;
    }
    *link = parcel->same_bucket;
    waiting->count--;
}

struct parcel *outbox_index_find(const struct outbox_index *waiting, uint64_t hub_id) {
    struct parcel *parcel = waiting->buckets[bucket_of(waiting, hub_id)];
    while (parcel && parcel->hub_id != hub_id)
        parcel = parcel->same_bucket;
    return parcel;
}
