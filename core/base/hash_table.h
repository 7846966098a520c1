// A hash table whose links lie in its members. The caller brings the hash, and tells members of one hash
// apart. Where peers choose the keys, the hash must be keyed with a secret. The table owns nothing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/quota.h"

struct hash_node {
    struct hash_node *next;
    uint64_t hash;
};

struct hash_table {
    struct hash_node **buckets;
    size_t capacity; // a power of two, or 0
    size_t count;
    struct quota *quota; // the account of its memory
};

#define hash_table_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

void hash_table_init(struct hash_table *hash_table, struct quota *quota);
// Nothing may be in it any more.
void hash_table_deinit(struct hash_table *hash_table);
// Adds a member. False where the hub has no room for even a small table. A table that can't grow goes on as
// it is.
bool hash_table_add(struct hash_table *hash_table, struct hash_node *node, uint64_t hash);
// Removes a member, which must be in the table. A large table of few members gives memory back.
void hash_table_remove(struct hash_table *hash_table, struct hash_node *node);

// The first that has this hash, and the next one; NULL: there is none (any more).
static inline struct hash_node *hash_table_same(struct hash_node *node, uint64_t hash) {
    while (node && node->hash != hash)
        node = node->next;
    return node;
}
static inline struct hash_node *hash_table_find(const struct hash_table *hash_table, uint64_t hash) {
    return hash_table->count ? hash_table_same(hash_table->buckets[hash & (hash_table->capacity - 1)], hash)
                             : NULL;
}
static inline struct hash_node *hash_table_next(const struct hash_node *node) {
    return hash_table_same(node->next, node->hash);
}
// Numbers that are given out in turn, spread over all bits by an odd secret (Dietzfelbinger et al., 1997: multiply-shift).
static inline uint64_t hash_table_hash(uint64_t number, uint64_t secret) {
    uint64_t product = number * (secret | 1);
    return product ^ product >> 32;
}
