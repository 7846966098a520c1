// A hash table from strings to pointers, for agentIds and for the names of groups. Keys are not copied: they
// belong to the pointer's target. Keys are hashed under a secret key, which comes from outside, so that no
// peer can choose names that collide.
//
// A table that is too small, or too large by far, is left for another one a few slots at a time, with each
// key that comes or goes. The new table takes its memory as it fills. However many keys there are, no call
// waits for all of them. Until all have been taken along a key is looked for in both tables.
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

// Slots, a power of two, in chunks: one that has never held anything is NULL.
struct name_table {
    struct name_entry **chunks;
    size_t capacity; // 0 without chunks
};

struct name_map {
    struct name_table table;
    size_t count; // in both tables
    // The table that is being left, of which what stood before slot `left` has been taken along.
    struct name_table leaving;
    size_t left;
    struct siphash_key hash_key;
    struct quota *quota; // the account of its memory
};

void name_map_init(struct name_map *map, const struct siphash_key *hash_key, struct quota *quota);
void name_map_deinit(struct name_map *map);
// Where many keys are looked up one after the other, each lookup waits for memory, unless that memory has
// been asked for. name_map_expect asks for what name_map_get looks at first. With the hash that it returns,
// name_map_expect_key asks for the target of that.
uint64_t name_map_expect(const struct name_map *map, const char *key, size_t key_bytes);
void name_map_expect_key(const struct name_map *map, uint64_t hash);
// Returns the key's pointer, or NULL.
void *name_map_get(const struct name_map *map, const char *key, size_t key_bytes);
// Makes room for this key, so that adding it, if no other one is added before, can't fail. False when memory, or the quota,
// is used up.
bool name_map_reserve(struct name_map *map, const char *key, size_t key_bytes);
// Adds a key that isn't there yet. False as name_map_reserve.
bool name_map_add(struct name_map *map, const char *key, size_t key_bytes, void *value);
// Puts an equal key and its value in the place of one that is there.
void name_map_replace(struct name_map *map, const char *key, size_t key_bytes, void *value);
// Takes a key out, if it is there.
void name_map_remove(struct name_map *map, const char *key, size_t key_bytes);
// Gives back what a small table of which little is used any more doesn't need, if there is memory for another one. A large
// one sees to that itself, as keys are taken out.
void name_map_shrink(struct name_map *map);
