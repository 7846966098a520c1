// A hash table whose links and keys lie in its members. The table's owner hashes keys and compares members. If peers
// choose the keys, the hash must have a secret key. The table owns no member.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/quota.h"

struct hash_node {
    struct hash_node *next;
    struct hash_node **link; // points to the pointer to this node; NULL: the node is in no table
};

struct hash_table;
// Returns the hash of a member's key. The result must always be the same.
typedef uint64_t hash_table_hasher(const struct hash_table *hash_table, const struct hash_node *node);

struct hash_table {
    struct hash_node **buckets;
    size_t capacity; // a power of two, or 0
    size_t count;
    uint32_t few; // members that were removed while the table had too few for its buckets
    hash_table_hasher *hasher;
    struct quota *quota; // the account of the table's memory; NULL: none
};

#define hash_table_entry(node, type, member) ((type *)((char *)(node)-offsetof(type, member)))

void hash_table_init(struct hash_table *hash_table, hash_table_hasher *hasher, struct quota *quota);
// Frees the table, which must be empty.
void hash_table_deinit(struct hash_table *hash_table);
// Makes room for `count` members at once. Returns false without memory.
bool hash_table_reserve(struct hash_table *hash_table, size_t count);
// Adds a member, which must be in no table. Returns false if there is no memory even for a small table. A table that
// can't grow keeps its size and takes the member.
bool hash_table_add(struct hash_table *hash_table, struct hash_node *node);
// Removes a member, which must be in the table, in constant time. A large table that has few members for long gives
// memory back.
void hash_table_remove(struct hash_table *hash_table, struct hash_node *node);

// Returns the first member of the chain that has all members of this hash, or NULL. hash_node.next leads to the others.
// The latest member of a hash comes first. The caller must compare keys: the chain may have members of other hashes.
static inline struct hash_node *hash_table_find(const struct hash_table *hash_table, uint64_t hash) {
    return hash_table->count ? hash_table->buckets[hash & (hash_table->capacity - 1)] : NULL;
}
// Prefetches the memory that hash_table_find reads.
static inline void hash_table_fetch(const struct hash_table *hash_table, uint64_t hash) {
    if (hash_table->count)
        __builtin_prefetch(&hash_table->buckets[hash & (hash_table->capacity - 1)]);
}
// Hashes numbers that are given out in turn: spreads them over all bits by an odd secret (Dietzfelbinger et al., 1997:
// multiply-shift).
static inline uint64_t hash_table_hash(uint64_t number, uint64_t secret) {
    uint64_t product = number * (secret | 1);
    return product ^ product >> 32;
}
