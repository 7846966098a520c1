#include "core/base/hash_table.h"

#include <assert.h>

// A member that is alone in its place costs one look, at memory that is seldom near, and the place itself is
// small.
enum {
    CAPACITY_MIN = 16,
    PLACES_EACH = 2,
    // A table of more buckets halves where a member has this many.
    CAPACITY_KEPT = 256,
    PLACES_EACH_MAX = 16,
};

void hash_table_init(struct hash_table *hash_table, struct quota *quota) {
    assert(quota);
    *hash_table = (struct hash_table){.quota = quota};
}

void hash_table_deinit(struct hash_table *hash_table) {
    assert(hash_table->count == 0);
    quota_give(hash_table->quota, hash_table->buckets);
    *hash_table = (struct hash_table){.quota = hash_table->quota};
}

static void put(struct hash_node **buckets, size_t capacity, struct hash_node *node) {
    struct hash_node **head = &buckets[node->hash & (capacity - 1)];
    assert((capacity & (capacity - 1)) == 0);
    node->next = *head;
    *head = node;
}

// Moves all members to this many buckets. False without memory: then nothing has changed.
static bool resize(struct hash_table *hash_table, size_t capacity) {
    struct hash_node **buckets = quota_take_zeroed(hash_table->quota, capacity, sizeof *buckets);
    assert((hash_table->capacity & (hash_table->capacity - 1)) == 0);
    if (!buckets)
        return false;
    for (size_t index = 0; index < hash_table->capacity; index++)
        for (struct hash_node *node = hash_table->buckets[index], *next; node; node = next) {
            next = node->next;
            put(buckets, capacity, node);
        }
    quota_give(hash_table->quota, hash_table->buckets);
    hash_table->buckets = buckets;
    hash_table->capacity = capacity;
    return true;
}

static bool grow(struct hash_table *hash_table) {
    return resize(hash_table, hash_table->capacity ? hash_table->capacity * 2 : CAPACITY_MIN);
}

bool hash_table_add(struct hash_table *hash_table, struct hash_node *node, uint64_t hash) {
    if (hash_table->count >= hash_table->capacity / PLACES_EACH && !grow(hash_table) && !hash_table->capacity)
        return false;
    node->hash = hash;
    put(hash_table->buckets, hash_table->capacity, node);
    hash_table->count++;
    return true;
}

void hash_table_remove(struct hash_table *hash_table, struct hash_node *node) {
    struct hash_node **at = &hash_table->buckets[node->hash & (hash_table->capacity - 1)];
    assert(hash_table->count > 0);
    while (*at != node) {
        assert(*at);
        at = &(*at)->next;
    }
    *at = node->next;
    node->next = NULL;
    hash_table->count--;
    if (hash_table->capacity > CAPACITY_KEPT && hash_table->count < hash_table->capacity / PLACES_EACH_MAX)
        (void)resize(hash_table, hash_table->capacity / 2); // without memory the table stays as large
}
