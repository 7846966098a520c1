#include "core/agents/name_map.h"

#include <assert.h>
#include <string.h>

enum {
    CAPACITY_MIN = 16,
    CHUNK_SLOTS = 512, // a power of two
    // Slots of the old table that are moved with each key that is added or removed. A table that doubles grows again
    // after three quarters of the smaller table's slots in new keys. A table that shrinks to a quarter takes a
    // sixteenth of the larger table's. With more than 16 slots at a time, the old table is empty by then.
    SLOTS_A_STEP = 64,
    // A table with up to so many slots is moved at once when it shrinks.
    SMALL_CAPACITY = 1024,
};

// The key of a removed entry in the old table: runs of colliding names stay complete.
static const char gone[1];

// --- Tables

static size_t chunk_slots(size_t capacity) {
    return capacity < CHUNK_SLOTS ? capacity : CHUNK_SLOTS;
}

static size_t chunk_count(size_t capacity) {
    return (capacity + CHUNK_SLOTS - 1) / CHUNK_SLOTS;
}

static bool table_open(struct name_table *table, struct quota *quota, size_t capacity) {
    assert((capacity & (capacity - 1)) == 0);
    *table =
        (struct name_table){.chunks = quota_take_zeroed(quota, chunk_count(capacity), sizeof *table->chunks),
                            .capacity = capacity};
    if (!table->chunks)
        *table = (struct name_table){0};
    return table->chunks;
}

static void table_close(struct name_table *table, struct quota *quota) {
    for (size_t chunk = 0; chunk < chunk_count(table->capacity); chunk++)
        quota_give(quota, table->chunks[chunk]);
    quota_give(quota, table->chunks);
    *table = (struct name_table){0};
}

// Returns a slot; NULL if its chunk was never used.
static struct name_entry *slot_at(const struct name_table *table, size_t index) {
    assert(index < table->capacity);
    struct name_entry *chunk = table->chunks[index / CHUNK_SLOTS];
    return chunk ? &chunk[index % CHUNK_SLOTS] : NULL;
}

// Returns a slot, and makes its chunk if there is none. Returns NULL without memory.
static struct name_entry *slot_take(struct name_table *table, struct quota *quota, size_t index) {
    assert(index < table->capacity);
    struct name_entry **chunk = &table->chunks[index / CHUNK_SLOTS];
    if (!*chunk)
        *chunk = quota_take_zeroed(quota, chunk_slots(table->capacity), sizeof **chunk);
    return *chunk ? &(*chunk)[index % CHUNK_SLOTS] : NULL;
}

static bool is_free(const struct name_entry *entry) {
    return !entry || !entry->key;
}

static bool is_key(const struct name_entry *entry, uint64_t hash, const char *key, size_t key_bytes) {
    return entry->hash == hash && entry->key_bytes == key_bytes && memcmp(entry->key, key, key_bytes) == 0;
}

// --- Keys

void name_map_init(struct name_map *map, const struct siphash_key *hash_key, struct quota *quota) {
    *map = (struct name_map){.hash_key = *hash_key, .quota = quota};
}

void name_map_deinit(struct name_map *map) {
    table_close(&map->table, map->quota);
    table_close(&map->leaving, map->quota);
    map->count = map->left = 0;
}

static uint64_t hash_of(const struct name_map *map, const char *key, size_t key_bytes) {
    return siphash_table(&map->hash_key, key, key_bytes);
}

// Finds a key in the present table, which always has a free slot.
static struct name_entry *find_here(const struct name_table *table, uint64_t hash, const char *key,
                                    size_t key_bytes) {
    size_t mask = table->capacity - 1;
    for (size_t index = hash & mask;; index = (index + 1) & mask) {
        struct name_entry *entry = slot_at(table, index);
        if (is_free(entry))
            return NULL;
        if (is_key(entry, hash, key, key_bytes))
            return entry;
    }
}

// Finds a key in the old table. Slots that were moved are skipped: a run that began there goes on after them, up to a
// free slot, if there is one left.
static struct name_entry *find_there(const struct name_map *map, uint64_t hash, const char *key,
                                     size_t key_bytes) {
    assert(map->leaving.chunks && map->left < map->leaving.capacity);
    size_t home = hash & (map->leaving.capacity - 1);
    size_t first = home > map->left ? home : map->left;
    size_t slots = map->leaving.capacity - map->left;
    for (size_t index = first; slots > 0; slots--) {
        struct name_entry *entry = slot_at(&map->leaving, index);
        if (is_free(entry))
            return NULL;
        if (is_key(entry, hash, key, key_bytes))
            return entry;
        index = index + 1 < map->leaving.capacity ? index + 1 : map->left;
    }
    return NULL;
}

uint64_t name_map_expect(const struct name_map *map, const char *key, size_t key_bytes) {
    if (map->count == 0)
        return 0;
    uint64_t hash = hash_of(map, key, key_bytes);
    struct name_entry *entry = slot_at(&map->table, hash & (map->table.capacity - 1));
    if (entry)
        __builtin_prefetch(entry);
    return hash;
}

void name_map_expect_key(const struct name_map *map, uint64_t hash) {
    assert(map->count < map->table.capacity || map->count == 0);
    for (size_t index = hash; map->count > 0; index++) {
        const struct name_entry *entry = slot_at(&map->table, index & (map->table.capacity - 1));
        if (!is_free(entry) && entry->hash != hash)
            continue;
        if (!is_free(entry))
            __builtin_prefetch(entry->key);
        return;
    }
}

// Finds a key in either table. Returns NULL if there is none.
static struct name_entry *entry_of(const struct name_map *map, const char *key, size_t key_bytes) {
    assert(key && map->count <= map->table.capacity);
    if (map->count == 0)
        return NULL;
    uint64_t hash = hash_of(map, key, key_bytes);
    struct name_entry *entry = find_here(&map->table, hash, key, key_bytes);
    return entry || !map->leaving.chunks ? entry : find_there(map, hash, key, key_bytes);
}

void *name_map_get(const struct name_map *map, const char *key, size_t key_bytes) {
    struct name_entry *entry = entry_of(map, key, key_bytes);
    return entry ? entry->value : NULL;
}

void name_map_replace(struct name_map *map, const char *key, size_t key_bytes, void *value) {
    struct name_entry *entry = entry_of(map, key, key_bytes);
    assert(entry);
    entry->key = key;
    entry->value = value;
}

static size_t free_slot(const struct name_map *map, uint64_t hash) {
    assert(map->count < map->table.capacity);
    size_t mask = map->table.capacity - 1, index = hash & mask;
    while (!is_free(slot_at(&map->table, index)))
        index = (index + 1) & mask;
    return index;
}

// Moves the entries in the next slots of the old table to the present table, as far as there is memory.
static void move_on(struct name_map *map) {
    assert(map->left <= map->leaving.capacity && !map->leaving.chunks == !map->leaving.capacity);
    size_t until = map->left + SLOTS_A_STEP;
    for (; map->left < map->leaving.capacity && map->left < until; map->left++) {
        struct name_entry *entry = slot_at(&map->leaving, map->left);
        if (!is_free(entry) && entry->key != gone) {
            struct name_entry *room = slot_take(&map->table, map->quota, free_slot(map, entry->hash));
            if (!room)
                return;
            *room = *entry;
        }
        if ((map->left + 1) % CHUNK_SLOTS == 0) {
            quota_give(map->quota, map->leaving.chunks[map->left / CHUNK_SLOTS]);
            map->leaving.chunks[map->left / CHUNK_SLOTS] = NULL;
        }
    }
    if (map->leaving.chunks && map->left == map->leaving.capacity) {
        table_close(&map->leaving, map->quota);
        map->left = 0;
    }
}

// Begins the move to a new table. Returns false without memory, and while an earlier move isn't done.
static bool move_to(struct name_map *map, size_t capacity) {
    assert(capacity > map->count);
    struct name_table table;
    if (map->leaving.chunks || !table_open(&table, map->quota, capacity))
        return false;
    map->leaving = map->table;
    map->table = table;
    return true;
}

static bool is_sparse(const struct name_map *map) {
    return !map->leaving.chunks && map->count < map->table.capacity / 8;
}

void name_map_shrink(struct name_map *map) {
    size_t capacity = map->table.capacity;
    if (map->count == 0) {
        name_map_deinit(map);
    } else if (capacity <= SMALL_CAPACITY && is_sparse(map)) {
        while (capacity > CAPACITY_MIN && map->count < capacity / 4)
            capacity /= 2;
        if (capacity < map->table.capacity && move_to(map, capacity))
            for (size_t steps = SMALL_CAPACITY / SLOTS_A_STEP; steps > 0; steps--)
                move_on(map);
    }
}

// Returns the free slot for a key with this hash. Returns NULL without memory.
static struct name_entry *room_for(struct name_map *map, uint64_t hash) {
    size_t capacity = map->table.capacity;
    if (map->count + 1 > capacity / 4 * 3 && !move_to(map, capacity ? capacity * 2 : CAPACITY_MIN))
        return NULL;
    return slot_take(&map->table, map->quota, free_slot(map, hash));
}

bool name_map_reserve(struct name_map *map, const char *key, size_t key_bytes) {
    return room_for(map, hash_of(map, key, key_bytes));
}

bool name_map_add(struct name_map *map, const char *key, size_t key_bytes, void *value) {
    assert(!name_map_get(map, key, key_bytes));
    uint64_t hash = hash_of(map, key, key_bytes);
    struct name_entry *room = room_for(map, hash);
    if (!room)
        return false;
    *room = (struct name_entry){.hash = hash, .key = key, .key_bytes = key_bytes, .value = value};
    map->count++;
    move_on(map);
    return true;
}

static size_t index_of(const struct name_table *table, const struct name_entry *entry) {
    size_t mask = table->capacity - 1, index = entry->hash & mask;
    while (slot_at(table, index) != entry)
        index = (index + 1) & mask;
    return index;
}

// Closes the gap: moves back each entry of the run after the gap that may be there (Knuth, volume 3, 6.4, algorithm R).
static void close_gap(struct name_table *table, struct name_entry *gap) {
    size_t mask = table->capacity - 1, hole = index_of(table, gap);
    assert(!is_free(gap) && gap->key != gone);
    for (size_t index = (hole + 1) & mask; !is_free(slot_at(table, index)); index = (index + 1) & mask) {
        struct name_entry *entry = slot_at(table, index);
        size_t home = entry->hash & mask;
        if (((index - home) & mask) >= ((index - hole) & mask)) {
            *slot_at(table, hole) = *entry;
            hole = index;
        }
    }
    *slot_at(table, hole) = (struct name_entry){0};
}

void name_map_remove(struct name_map *map, const char *key, size_t key_bytes) {
    if (map->count == 0)
        return;
    uint64_t hash = hash_of(map, key, key_bytes);
    struct name_entry *here = find_here(&map->table, hash, key, key_bytes);
    struct name_entry *there = !here && map->leaving.chunks ? find_there(map, hash, key, key_bytes) : NULL;
    if (here)
        close_gap(&map->table, here);
    else if (there)
        *there = (struct name_entry){.key = gone, .key_bytes = SIZE_MAX};
    map->count -= here || there;
    if (map->table.capacity > SMALL_CAPACITY && is_sparse(map))
        (void)move_to(map, map->table.capacity / 4);
    move_on(map);
}
