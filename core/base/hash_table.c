#include "core/base/hash_table.h"

#include <assert.h>

#include "core/base/memory.h"

// Two buckets for each member: a lookup then mostly reads a single member, whose memory is seldom in the cache. A
// bucket itself is small.
enum {
    CAPACITY_MIN = 16,
    BUCKETS_EACH = 2,
    // A table of more than CAPACITY_LARGE buckets halves if it has fewer than one member for BUCKETS_EACH_MAX buckets
    // while FEW_MAX members, or fewer (few_max), are removed. A table that fills and empties all the time keeps its
    // size.
    CAPACITY_LARGE = 256,
    BUCKETS_EACH_MAX = 16,
    FEW_MAX = 1024,
};

void hash_table_init(struct hash_table *hash_table, hash_table_hasher *hasher, struct quota *quota) {
    assert(hasher);
    *hash_table = (struct hash_table){.hasher = hasher, .quota = quota};
}

static struct hash_node **buckets_take(struct quota *quota, size_t capacity) {
    assert((capacity & (capacity - 1)) == 0);
    return quota ? quota_take_zeroed(quota, capacity, sizeof(struct hash_node *))
                 : memory_take_zeroed(capacity, sizeof(struct hash_node *));
}

static void buckets_give(struct hash_table *hash_table) {
    if (hash_table->quota)
        quota_give(hash_table->quota, hash_table->buckets);
    else
        memory_give(hash_table->buckets);
}

void hash_table_deinit(struct hash_table *hash_table) {
    assert(hash_table->count == 0);
    buckets_give(hash_table);
    hash_table_init(hash_table, hash_table->hasher, hash_table->quota);
}

static void put(const struct hash_table *hash_table, struct hash_node **buckets, size_t capacity,
                struct hash_node *node) {
    struct hash_node **bucket = &buckets[hash_table->hasher(hash_table, node) & (capacity - 1)];
    node->next = *bucket;
    node->link = bucket;
    if (node->next)
        node->next->link = &node->next;
    *bucket = node;
}

static struct hash_node *reversed(struct hash_node *node) {
    struct hash_node *before = NULL;
    for (struct hash_node *next; node; node = next) {
        next = node->next;
        node->next = before;
        before = node;
    }
    return before;
}

// Moves all members to `capacity` buckets; members of one hash keep their order. Returns false without memory; then
// nothing has changed.
static bool resize(struct hash_table *hash_table, size_t capacity) {
    struct hash_node **buckets = buckets_take(hash_table->quota, capacity);
    if (!buckets)
        return false;
    for (size_t index = 0; index < hash_table->capacity; index++)
        for (struct hash_node *node = reversed(hash_table->buckets[index]), *next; node; node = next) {
            next = node->next;
            put(hash_table, buckets, capacity, node);
        }
    buckets_give(hash_table);
    hash_table->buckets = buckets;
    hash_table->capacity = capacity;
    hash_table->few = 0;
    return true;
}

bool hash_table_reserve(struct hash_table *hash_table, size_t count) {
    size_t capacity = hash_table->capacity ? hash_table->capacity : CAPACITY_MIN;
    assert(count <= SIZE_MAX / 4 / BUCKETS_EACH);
    while (capacity / BUCKETS_EACH < count)
        capacity *= 2;
    return capacity == hash_table->capacity || resize(hash_table, capacity);
}

bool hash_table_add(struct hash_table *hash_table, struct hash_node *node) {
    assert(!node->link);
    if (hash_table->count >= hash_table->capacity / BUCKETS_EACH &&
        !hash_table_reserve(hash_table, hash_table->count + 1) && !hash_table->capacity)
        return false;
    put(hash_table, hash_table->buckets, hash_table->capacity, node);
    hash_table->count++;
    return true;
}

// Returns how many removals from a nearly empty table halve the table. The number is larger than one emptying of the
// table needs, except for a large table.
static size_t few_max(const struct hash_table *hash_table) {
    size_t twice = hash_table->capacity / BUCKETS_EACH_MAX * 2;
    return twice < FEW_MAX ? twice : FEW_MAX;
}

void hash_table_remove(struct hash_table *hash_table, struct hash_node *node) {
    assert(hash_table->count > 0 && node->link && *node->link == node);
    *node->link = node->next;
    if (node->next)
        node->next->link = node->link;
    *node = (struct hash_node){0};
    hash_table->count--;
    if (hash_table->count >= hash_table->capacity / BUCKETS_EACH_MAX)
        hash_table->few = 0;
    else if (++hash_table->few >= few_max(hash_table) && hash_table->capacity > CAPACITY_LARGE)
        (void)resize(hash_table, hash_table->capacity / 2); // without memory the table keeps its size
}
