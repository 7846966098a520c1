#include "router/engine/shard/rejects.h"

#include <assert.h>

#include "core/base/limits.h"

void rejects_init(struct rejects *untaken) {
    untaken->count = 0;
    for (unsigned index = 0; index < REJECTS_CHAINS; index++)
        parcel_list_init(&untaken->chains[index]);
}

// Slots are given one after the other, so that those under way together are spread out.
static unsigned rejects_chain_of(uint64_t hub_id) {
    assert(hub_id); // it is a request
    return (unsigned)(hub_id >> HUB_ID_GENERATION_BITS) % REJECTS_CHAINS;
}

void rejects_put(struct rejects *untaken, struct parcel *parcel) {
    parcel_list_append(&untaken->chains[rejects_chain_of(parcel->hub_id)], parcel);
    untaken->count++;
}

void rejects_remove(struct rejects *untaken, struct parcel *parcel) {
    assert(untaken->count > 0);
    parcel_list_remove(&untaken->chains[rejects_chain_of(parcel->hub_id)], parcel);
    untaken->count--;
}

bool rejects_has(const struct rejects *untaken, uint64_t hub_id) {
    assert(hub_id);
    if (untaken->count == 0)
        return false;
    const struct parcel *parcel = untaken->chains[rejects_chain_of(hub_id)].first;
    while (parcel && parcel->hub_id != hub_id)
        parcel = parcel->next;
    return parcel != NULL;
}
