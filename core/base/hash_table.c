#include "core/base/hash_table.h"

#include <assert.h>

// A member that is alone in its place costs one look, at memory that is seldom near, and the place itself is
// small.
enum { CAPACITY_MIN = 16, PLACES_EACH = 2 };

void hash_table_init(struct hash_table *hash_table, struct quota *kept) {
    assert(kept);
    *hash_table = (struct hash_table){.kept = kept};
}

void hash_table_deinit(struct hash_table *hash_table) {
    assert(hash_table->count == 0);
    quota_give(hash_table->kept, hash_table->heads);
    *hash_table = (struct hash_table){.kept = hash_table->kept};
}

static void put(struct hash_node **heads, size_t capacity, struct hash_node *bin) {
    struct hash_node **head = &heads[bin->hash & (capacity - 1)];
    assert((capacity & (capacity - 1)) == 0);
    bin->next = *head;
    *head = bin;
}

static bool grow(struct hash_table *hash_table) {
    size_t capacity = hash_table->capacity ? hash_table->capacity * 2 : CAPACITY_MIN;
    struct hash_node **heads = quota_take_zeroed(hash_table->kept, capacity, sizeof *heads);
    assert((hash_table->capacity & (hash_table->capacity - 1)) == 0);
    if (!heads)
        return false;
    for (size_t index = 0; index < hash_table->capacity; index++)
        for (struct hash_node *bin = hash_table->heads[index], *next; bin; bin = next) {
            next = bin->next;
            put(heads, capacity, bin);
        }
    quota_give(hash_table->kept, hash_table->heads);
    hash_table->heads = heads;
    hash_table->capacity = capacity;
    return true;
}

bool hash_table_add(struct hash_table *hash_table, struct hash_node *bin, uint64_t hash) {
    if (hash_table->count >= hash_table->capacity / PLACES_EACH && !grow(hash_table) && !hash_table->capacity)
        return false;
    bin->hash = hash;
    put(hash_table->heads, hash_table->capacity, bin);
    hash_table->count++;
    return true;
}

void hash_table_remove(struct hash_table *hash_table, struct hash_node *bin) {
    struct hash_node **at = &hash_table->heads[bin->hash & (hash_table->capacity - 1)];
    assert(hash_table->count > 0);
    while (*at != bin) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = bin->next;
    bin->next = NULL;
    hash_table->count--;
}
