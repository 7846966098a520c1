#include "router/engine/shard/authn_throttle.h"

#include <assert.h>
#include <stdbool.h>

// A slot: the upper half of the hash, the time of the last wrong credential, and the count of them. 0: the slot is
// free.
enum { WAYS = 4, COUNT_BITS = 4, TIME_BITS = 28 };

#define TIME_MASK ((UINT64_C(1) << TIME_BITS) - 1)

static uint64_t age_of(uint64_t slot, uint64_t now_ms) {
    return (now_ms - (slot >> COUNT_BITS)) & TIME_MASK;
}

static bool is_of(uint64_t slot, uint64_t address_hash) {
    assert(slot);
    return slot >> (COUNT_BITS + TIME_BITS) == address_hash >> 32;
}

// Returns the slot of this address_hash, or else the slot that has been quiet longest.
static _Atomic uint64_t *find(struct authn_throttle *authn_throttle, uint64_t address_hash, uint64_t now_ms) {
    _Atomic uint64_t *set = &authn_throttle->slots[address_hash % (AUTHN_THROTTLE_COUNT / WAYS) * WAYS],
                     *oldest = set;
    assert(set + WAYS <= authn_throttle->slots + AUTHN_THROTTLE_COUNT);
    uint64_t oldest_ms = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        uint64_t slot = atomic_load_explicit(&set[way], memory_order_relaxed);
        uint64_t age_ms = slot ? age_of(slot, now_ms) : UINT64_MAX;
        if (slot && is_of(slot, address_hash))
            return &set[way];
        if (age_ms > oldest_ms) {
            oldest = &set[way];
            oldest_ms = age_ms;
        }
    }
    return oldest;
}

uint32_t authn_throttle_add(struct authn_throttle *authn_throttle, uint64_t address_hash, uint64_t now_ms) {
    static_assert(AUTHN_THROTTLE_DELAY_MS << 6 > AUTHN_THROTTLE_DELAY_MAX_MS, "the count has enough bits");
    for (;;) {
        _Atomic uint64_t *slot = find(authn_throttle, address_hash, now_ms);
        uint64_t before = atomic_load_explicit(slot, memory_order_relaxed), count = 0;
        if (before && is_of(before, address_hash) && age_of(before, now_ms) < AUTHN_THROTTLE_FORGOTTEN_MS)
            count = before & ((1 << COUNT_BITS) - 1);
        uint64_t delay_ms = (uint64_t)AUTHN_THROTTLE_DELAY_MS << count;
        count += count < 7;
        uint64_t after =
            (address_hash >> 32) << (COUNT_BITS + TIME_BITS) | (now_ms & TIME_MASK) << COUNT_BITS | count;
        if (atomic_compare_exchange_strong_explicit(slot, &before, after, memory_order_relaxed,
                                                    memory_order_relaxed))
            return delay_ms < AUTHN_THROTTLE_DELAY_MAX_MS ? (uint32_t)delay_ms : AUTHN_THROTTLE_DELAY_MAX_MS;
    }
}
