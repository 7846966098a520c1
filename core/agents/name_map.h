// A hash table from strings to pointers, for agentIds and names of groups. Keys are not copied: they belong to the
// pointer's target. The hash has a secret key, so that no peer can choose names that collide.
//
// A table that is too small, or far too large, is replaced step by step: each change moves a few slots to the new
// table. The new table takes its memory as it fills. So no call has to move all keys. Until all are moved, a key is
// looked up in both tables.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/quota.h"
#include "core/base/siphash.h"

struct name_entry {
    uint64_t hash;
    const char *key; // NULL: free
    size_t key_bytes;
    void *value;
};

// Slots, a power of two, in chunks. An unused chunk is NULL.
struct name_table {
    struct name_entry **chunks;
    size_t capacity; // 0 without chunks
};

struct name_map {
    struct name_table table;
    size_t count; // in both tables
                  // The table that is being replaced. The slots before `left` have been moved.
    struct name_table leaving;
    size_t left;
    struct siphash_key hash_key;
    struct quota *quota; // the account of its memory
};

void name_map_init(struct name_map *map, const struct siphash_key *hash_key, struct quota *quota);
void name_map_deinit(struct name_map *map);
// Prefetch for several lookups one after the other. name_map_expect prefetches what name_map_get reads first and
// returns the hash. name_map_expect_key prefetches the target, by that hash.
uint64_t name_map_expect(const struct name_map *map, const char *key, size_t key_bytes);
void name_map_expect_key(const struct name_map *map, uint64_t hash);
// Returns the key's pointer, or NULL.
void *name_map_get(const struct name_map *map, const char *key, size_t key_bytes);
// Makes room for this key: the next name_map_add, if it is for this key, can't fail. Returns false without memory or
// quota.
bool name_map_reserve(struct name_map *map, const char *key, size_t key_bytes);
// Adds a new key. Returns false without memory or quota.
bool name_map_add(struct name_map *map, const char *key, size_t key_bytes, void *value);
// Replaces an equal key and its value.
void name_map_replace(struct name_map *map, const char *key, size_t key_bytes, void *value);
// Removes a key, if the table has it.
void name_map_remove(struct name_map *map, const char *key, size_t key_bytes);
// Replaces a small table that is mostly empty by a smaller one, if there is memory. A large table shrinks by itself, as
// keys are removed.
void name_map_shrink(struct name_map *map);
