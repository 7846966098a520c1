#include "core/names.h"

#include <string.h>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include <xxhash.h>
#pragma GCC diagnostic pop

#include "core/memory.h"

void names_init(struct names *names, uint64_t seed) {
    *names = (struct names){.seed = seed};
}

void names_deinit(struct names *names) {
    memory_give(names->entries);
    names_init(names, names->seed);
}

// The key's entry, or the free one where it would go. There is always a free one.
static struct name_entry *probe(const struct names *names, uint64_t hash, const char *key, size_t key_bytes) {
    for (size_t index = hash & (names->capacity - 1);; index = (index + 1) & (names->capacity - 1)) {
        struct name_entry *entry = &names->entries[index];
        if (!entry->key)
            return entry;
        if (entry->hash == hash && entry->key_bytes == key_bytes && memcmp(entry->key, key, key_bytes) == 0)
            return entry;
    }
}

static struct name_entry *find(const struct names *names, const char *key, size_t key_bytes) {
    if (names->count == 0)
        return NULL;
    struct name_entry *entry =
        probe(names, XXH3_64bits_withSeed(key, key_bytes, names->seed), key, key_bytes);
    return entry->key ? entry : NULL;
}

void *names_get(const struct names *names, const char *key, size_t key_bytes) {
    struct name_entry *entry = find(names, key, key_bytes);
    return entry ? entry->value : NULL;
}

static bool grow(struct names *names) {
    struct names larger = {.capacity = names->capacity ? names->capacity * 2 : 16, .seed = names->seed};
    larger.entries = memory_take_zeroed(larger.capacity, sizeof *larger.entries);
    if (!larger.entries)
        return false;
    for (size_t index = 0; index < names->capacity; index++) {
        struct name_entry *entry = &names->entries[index];
        if (entry->key)
            *probe(&larger, entry->hash, entry->key, entry->key_bytes) = *entry;
    }
    larger.count = names->count;
    memory_give(names->entries);
    *names = larger;
    return true;
}

bool names_add(struct names *names, const char *key, size_t key_bytes, void *value) {
    if (names->count + 1 > names->capacity / 4 * 3 && !grow(names))
        return false;
    uint64_t hash = XXH3_64bits_withSeed(key, key_bytes, names->seed);
    *probe(names, hash, key, key_bytes) =
        (struct name_entry){.hash = hash, .key = key, .key_bytes = key_bytes, .value = value};
    names->count++;
    return true;
}

// Closes the gap by moving back each entry of the run behind it that could stand there (Knuth, volume 3, 6.4,
// algorithm R).
void names_remove(struct names *names, const char *key, size_t key_bytes) {
    struct name_entry *gap = find(names, key, key_bytes);
    if (!gap)
        return;
    size_t mask = names->capacity - 1;
    size_t hole = (size_t)(gap - names->entries);
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
