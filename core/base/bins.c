#include "core/base/bins.h"

#include <assert.h>

// Who has no other in its place costs one look, at memory that is seldom near, and the place itself is small.
enum { CAPACITY_MIN = 16, PLACES_EACH = 2 };

void bins_init(struct bins *bins, struct kept *kept) {
    assert(kept);
    *bins = (struct bins){.kept = kept};
}

void bins_deinit(struct bins *bins) {
    assert(bins->count == 0);
    kept_give(bins->kept, bins->heads);
    *bins = (struct bins){.kept = bins->kept};
}

static void put(struct bin **heads, size_t capacity, struct bin *bin) {
    struct bin **head = &heads[bin->hash & (capacity - 1)];
    assert((capacity & (capacity - 1)) == 0);
    bin->next = *head;
    *head = bin;
}

static bool grow(struct bins *bins) {
    size_t capacity = bins->capacity ? bins->capacity * 2 : CAPACITY_MIN;
    struct bin **heads = kept_take_zeroed(bins->kept, capacity, sizeof *heads);
    assert((bins->capacity & (bins->capacity - 1)) == 0);
    if (!heads)
        return false;
    for (size_t index = 0; index < bins->capacity; index++)
        for (struct bin *bin = bins->heads[index], *next; bin; bin = next) {
            next = bin->next;
            put(heads, capacity, bin);
        }
    kept_give(bins->kept, bins->heads);
    bins->heads = heads;
    bins->capacity = capacity;
    return true;
}

bool bins_add(struct bins *bins, struct bin *bin, uint64_t hash) {
    if (bins->count >= bins->capacity / PLACES_EACH && !grow(bins) && !bins->capacity)
        return false;
    bin->hash = hash;
    put(bins->heads, bins->capacity, bin);
    bins->count++;
    return true;
}

void bins_remove(struct bins *bins, struct bin *bin) {
    struct bin **at = &bins->heads[bin->hash & (bins->capacity - 1)];
    assert(bins->count > 0);
    while (*at != bin) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = bin->next;
    bin->next = NULL;
    bins->count--;
}
