// The simulation's only source of chance: xoshiro256** (Blackman and Vigna, 2018), seeded by splitmix64. The
// same seed gives the same run on every machine.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct random {
    uint64_t state[4];
};

static inline void random_init(struct random *random, uint64_t seed) {
    for (unsigned index = 0; index < 4; index++) {
        seed += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t mixed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        random->state[index] = mixed ^ mixed >> 31;
    }
}

static inline uint64_t rotate_left(uint64_t value, unsigned by) {
    return value << by | value >> (64 - by);
}

static inline uint64_t random_next(struct random *random) {
    uint64_t *state = random->state;
    uint64_t result = rotate_left(state[1] * 5, 7) * 9;
    uint64_t shifted = state[1] << 17;
    state[2] ^= state[0];
    state[3] ^= state[1];
    state[1] ^= state[2];
    state[0] ^= state[3];
    state[2] ^= shifted;
    state[3] = rotate_left(state[3], 45);
    return result;
}

// A whole number below `bound`, which isn't 0. The bias of the remainder doesn't matter here.
static inline uint32_t random_below(struct random *random, uint32_t bound) {
    return (uint32_t)((random_next(random) >> 32) % bound);
}

static inline uint32_t random_between(struct random *random, uint32_t least, uint32_t most) {
    return least + random_below(random, most - least + 1);
}

static inline bool random_chance(struct random *random, uint32_t per_mille) {
    return per_mille && random_below(random, 1000) < per_mille;
}
