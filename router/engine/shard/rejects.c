#include "router/engine/shard/rejects.h"

#include <assert.h>

#include "core/base/limits.h"

void rejects_init(struct rejects *rejects) {
    rejects->count = 0;
    for (unsigned index = 0; index < REJECTS_CHAINS; index++)
        parcel_list_init(&rejects->buckets[index]);
}

// Slots of pending requests are used one after the other, so requests that are under way together are in different
// buckets.
static unsigned bucket_of(uint64_t hub_id) {
    assert(hub_id); // of a request
    return (unsigned)(hub_id >> HUB_ID_GENERATION_BITS) % REJECTS_CHAINS;
}

void rejects_put(struct rejects *rejects, struct parcel *parcel) {
    parcel_list_append(&rejects->buckets[bucket_of(parcel->hub_id)], parcel);
    rejects->count++;
}

void rejects_remove(struct rejects *rejects, struct parcel *parcel) {
    assert(rejects->count > 0);
    parcel_list_remove(&rejects->buckets[bucket_of(parcel->hub_id)], parcel);
    rejects->count--;
}

bool rejects_has(const struct rejects *rejects, uint64_t hub_id) {
    assert(hub_id);
    if (rejects->count == 0)
        return false;
    const struct parcel *parcel = rejects->buckets[bucket_of(hub_id)].first;
    while (parcel && parcel->hub_id != hub_id)
        parcel = parcel->next;
    return parcel != NULL;
}
