#include "core/agents/subscriber_count.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "core/base/limits.h"
#include "core/base/memory.h"

enum { PLACES = 1 << 14 };

struct subscriber_count {
    const struct siphash_key *key;
    _Atomic uint32_t prefixes[EVENT_BYTES_MAX + 1]; // of so many bytes, with their `*`
    _Atomic uint32_t places[PLACES];                // by a pattern's hash
};

struct subscriber_count *subscriber_count_create(const struct siphash_key *key) {
    struct subscriber_count *demand = memory_take_zeroed(1, sizeof *demand);
    if (demand)
        demand->key = key;
    return demand;
}

static uint64_t place_of(const struct subscriber_count *demand, const char *pattern, size_t bytes) {
    assert(bytes > 0 && bytes <= EVENT_BYTES_MAX);
    return siphash_table(demand->key, pattern, bytes) % PLACES;
}

static void count_up(_Atomic uint32_t *count) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

static void count_down(_Atomic uint32_t *count) {
    uint32_t before = atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

void subscriber_count_add(struct subscriber_count *demand, const char *pattern, size_t bytes) {
    count_up(&demand->places[place_of(demand, pattern, bytes)]);
    if (pattern[bytes - 1] == '*')
        count_up(&demand->prefixes[bytes]);
}

void subscriber_count_remove(struct subscriber_count *demand, const char *pattern, size_t bytes) {
    count_down(&demand->places[place_of(demand, pattern, bytes)]);
    if (pattern[bytes - 1] == '*')
        count_down(&demand->prefixes[bytes]);
}

static uint32_t at(const struct subscriber_count *demand, const char *pattern, size_t bytes) {
    return atomic_load_explicit(&demand->places[place_of(demand, pattern, bytes)], memory_order_relaxed);
}

uint32_t subscriber_count_for(const struct subscriber_count *demand, const char *name, size_t bytes) {
    char pattern[EVENT_BYTES_MAX];
    assert(bytes > 0 && bytes <= EVENT_BYTES_MAX);
    uint32_t count = name[bytes - 1] == '*' ? 0 : at(demand, name, bytes); // such a pattern isn't its name
    memcpy(pattern, name, bytes);
    for (size_t prefix = 1; prefix <= bytes + 1 && prefix <= EVENT_BYTES_MAX; prefix++) {
        if (!atomic_load_explicit(&demand->prefixes[prefix], memory_order_relaxed))
            continue;
        pattern[prefix - 1] = '*';
        count += at(demand, pattern, prefix);
        if (prefix <= bytes)
            pattern[prefix - 1] = name[prefix - 1];
    }
    return count;
}
