// A hash table whose links lie in its members, for those that hash themselves: the caller brings the hash, and tells apart what
// has the same. Its secret is in that hash, where whoever chooses keys could mean ill. Nothing is owned.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/kept.h"

struct bin {
    struct bin *next;
    uint64_t hash;
};

struct bins {
    struct bin **heads;
    size_t capacity; // a power of two, or 0
    size_t count;
    struct kept *kept; // the account that it is kept on
};

#define bin_entry(bin, type, member) ((type *)((char *)(bin)-offsetof(type, member)))

void bins_init(struct bins *bins, struct kept *kept);
// Nothing may be in it any more.
void bins_deinit(struct bins *bins);
// False where the hub has no room to keep even a small table. One that can't grow goes on as it is.
bool bins_add(struct bins *bins, struct bin *bin, uint64_t hash);
// It must be there.
void bins_remove(struct bins *bins, struct bin *bin);

// The first that has this hash, and the next one; NULL: there is none (any more).
static inline struct bin *bins_same(struct bin *bin, uint64_t hash) {
    while (bin && bin->hash != hash)
        bin = bin->next;
    return bin;
}
static inline struct bin *bins_find(const struct bins *bins, uint64_t hash) {
    return bins->count ? bins_same(bins->heads[hash & (bins->capacity - 1)], hash) : NULL;
}
static inline struct bin *bins_next(const struct bin *bin) {
    return bins_same(bin->next, bin->hash);
}
// What is looked for next is fetched meanwhile: where the first one of its place is said; that one, once the place is there; and the one
// behind it, once it is there and has another hash.
static inline void bins_foresee(const struct bins *bins, uint64_t hash) {
    if (bins->count)
        __builtin_prefetch(&bins->heads[hash & (bins->capacity - 1)]);
}
static inline void bins_foresee_first(const struct bins *bins, uint64_t hash) {
    if (bins->count)
        __builtin_prefetch(bins->heads[hash & (bins->capacity - 1)], 1);
}
static inline void bins_foresee_second(const struct bins *bins, uint64_t hash) {
    const struct bin *bin = bins->count ? bins->heads[hash & (bins->capacity - 1)] : NULL;
    if (bin && bin->hash != hash)
        __builtin_prefetch(bin->next, 1);
}

// Numbers that are given out in turn, spread over all bits by an odd secret (Dietzfelbinger et al., 1997: multiply-shift).
static inline uint64_t bins_hash(uint64_t number, uint64_t secret) {
    uint64_t product = number * (secret | 1);
    return product ^ product >> 32;
}
