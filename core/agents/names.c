#include "core/agents/names.h"

#include <assert.h>
#include <string.h>

enum { CAPACITY_MIN = 16 };

void names_init(struct names *names, const struct siphash_key *hash_key, struct kept *kept) {
    *names = (struct names){.hash_key = *hash_key, .kept = kept};
}

void names_deinit(struct names *names) {
    kept_give(names->kept, names->entries);
    *names = (struct names){.hash_key = names->hash_key, .kept = names->kept};
}

// The key's entry, or the free one where it would go. There is always a free one.
static struct name_entry *probe_for(const struct names *names, uint64_t hash, const char *key,
                                    size_t key_bytes) {
    assert((names->capacity & (names->capacity - 1)) == 0 && names->count < names->capacity);
    for (size_t index = hash & (names->capacity - 1);; index = (index + 1) & (names->capacity - 1)) {
        struct name_entry *entry = &names->entries[index];
        if (!entry->key)
            return entry;
        if (entry->hash == hash && entry->key_bytes == key_bytes && memcmp(entry->key, key, key_bytes) == 0)
            return entry;
    }
}

static struct name_entry *find_entry(const struct names *names, const char *key, size_t key_bytes) {
    assert(key && names->count <= names->capacity);
    if (names->count == 0)
        return NULL;
    struct name_entry *entry =
        probe_for(names, siphash_table(&names->hash_key, key, key_bytes), key, key_bytes);
    return entry->key ? entry : NULL;
}

uint64_t names_expect(const struct names *names, const char *key, size_t key_bytes) {
    if (names->count == 0)
        return 0;
    uint64_t hash = siphash_table(&names->hash_key, key, key_bytes);
    assert((names->capacity & (names->capacity - 1)) == 0);
    __builtin_prefetch(&names->entries[hash & (names->capacity - 1)]);
    return hash;
}

void names_expect_key(const struct names *names, uint64_t hash) {
    assert(names->count < names->capacity || names->count == 0);
    for (size_t index = hash; names->count > 0; index++) {
        const struct name_entry *entry = &names->entries[index & (names->capacity - 1)];
        if (entry->key && entry->hash != hash)
            continue;
        if (entry->key)
            __builtin_prefetch(entry->key);
        return;
    }
}

void *names_get(const struct names *names, const char *key, size_t key_bytes) {
    struct name_entry *entry = find_entry(names, key, key_bytes);
    return entry ? entry->value : NULL;
}

static bool rehash(struct names *names, size_t capacity) {
    assert(capacity > names->count && (capacity & (capacity - 1)) == 0);
    struct names other = {
        .capacity = capacity, .count = names->count, .hash_key = names->hash_key, .kept = names->kept};
    other.entries = kept_take_zeroed(names->kept, capacity, sizeof *other.entries);
    if (!other.entries)
        return false;
    for (size_t index = 0; index < names->capacity; index++) {
        struct name_entry *entry = &names->entries[index];
        if (entry->key)
            *probe_for(&other, entry->hash, entry->key, entry->key_bytes) = *entry;
    }
    kept_give(names->kept, names->entries);
    *names = other;
    return true;
}

static bool names_grow(struct names *names) {
    return rehash(names, names->capacity ? names->capacity * 2 : CAPACITY_MIN);
}

void names_shrink(struct names *names) {
    assert(!names->entries == (names->capacity == 0));
    size_t capacity = names->capacity;
    if (names->count >= capacity / 8)
        return;
    while (capacity > CAPACITY_MIN && names->count < capacity / 4)
        capacity /= 2;
    if (names->count > 0 && capacity < names->capacity) {
        (void)rehash(names, capacity);
    } else if (names->count == 0) {
        kept_give(names->kept, names->entries);
        names->entries = NULL;
        names->capacity = 0;
    }
}

bool names_reserve(struct names *names) {
    return names->count + 1 <= names->capacity / 4 * 3 || names_grow(names);
}

bool names_add(struct names *names, const char *key, size_t key_bytes, void *value) {
    if (!names_reserve(names))
        return false;
    uint64_t hash = siphash_table(&names->hash_key, key, key_bytes);
    struct name_entry *entry = probe_for(names, hash, key, key_bytes);
    assert(!entry->key);
    *entry = (struct name_entry){.hash = hash, .key = key, .key_bytes = key_bytes, .value = value};
    names->count++;
    return true;
}

// Closes the gap by moving back each entry of the run behind it that could stand there (Knuth, volume 3, 6.4,
// algorithm R).
void names_remove(struct names *names, const char *key, size_t key_bytes) {
    struct name_entry *gap = find_entry(names, key, key_bytes);
    if (!gap)
        return;
    size_t mask = names->capacity - 1;
    size_t hole = (size_t)(gap - names->entries);
    assert(names->count > 0 && hole < names->capacity);
    for (size_t index = (hole + 1) & mask; names->entries[index].key; index = (index + 1) & mask) {
        size_t home = names->entries[index].hash & mask;
        if (((index - home) & mask) >= ((index - hole) & mask)) {
            names->entries[hole] = names->entries[index];
            hole = index;
        }
    }
    names->entries[hole] = (struct name_entry){0};
    names->count--;
}
