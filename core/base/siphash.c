#include "core/base/siphash.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotated(uint64_t word, unsigned left) {
    assert(left > 0 && left < 64);
    return word << left | word >> (64 - left);
}

static inline void mix(struct state *state, unsigned rounds) {
    struct state v = *state;
    while (rounds-- > 0) {
        v.v0 += v.v1;
        v.v2 += v.v3;
        v.v1 = rotated(v.v1, 13) ^ v.v0;
        v.v3 = rotated(v.v3, 16) ^ v.v2;
        v.v0 = rotated(v.v0, 32) + v.v3;
        v.v2 += v.v1;
        v.v3 = rotated(v.v3, 21) ^ v.v0;
        v.v1 = rotated(v.v1, 17) ^ v.v2;
        v.v2 = rotated(v.v2, 32);
    }
    *state = v;
}

static inline void absorb(struct state *state, uint64_t word, unsigned rounds) {
    state->v3 ^= word;
    mix(state, rounds);
    state->v0 ^= word;
}

static inline uint64_t word_at(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return le64toh(word);
}

// Returns up to seven bytes as a number. Reads some of the bytes twice.
static inline uint64_t few_bytes_at(const uint8_t *bytes, size_t count) {
    uint32_t low, high;
    assert(count < 8);
    if (count < 4)
        return count ? bytes[0] | (uint64_t)bytes[count / 2] << 8 * (count / 2) |
                           (uint64_t)bytes[count - 1] << 8 * (count - 1)
                     : 0;
    memcpy(&low, bytes, sizeof low);
    memcpy(&high, bytes + count - sizeof high, sizeof high);
    return le32toh(low) | (uint64_t)le32toh(high) << 8 * (count - sizeof high);
}

// Returns the last word: the rest of the text, with the text's length in the highest byte.
static inline uint64_t last_word(const uint8_t *rest, size_t bytes) {
    size_t left = bytes % 8;
    uint64_t length = (uint64_t)bytes << 56;
    if (bytes < 8)
        return length | few_bytes_at(rest, left);
    return length | (left ? word_at(rest + left - 8) >> 8 * (8 - left) : 0);
}

// Absorbs the text. Inline for each number of rounds: a call with the state in memory takes as long as the hash of a
// name.
static inline __attribute__((always_inline)) struct state
absorbed(const struct siphash_key *key, const void *text, size_t bytes, uint64_t variant, unsigned rounds) {
    assert(text || bytes == 0);
    const uint8_t *at = text, *end = at + bytes / 8 * 8;
    struct state state = {
        key->words[0] ^ UINT64_C(0x736f6d6570736575),
        key->words[1] ^ UINT64_C(0x646f72616e646f6d) ^ variant,
        key->words[0] ^ UINT64_C(0x6c7967656e657261),
        key->words[1] ^ UINT64_C(0x7465646279746573),
    };
    for (; at < end; at += 8)
        absorb(&state, word_at(at), rounds);
    absorb(&state, last_word(end, bytes), rounds);
    return state;
}

static inline uint64_t squeezed(struct state *state, unsigned rounds) {
    mix(state, rounds);
    return state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
}

uint64_t siphash_table(const struct siphash_key *key, const void *text, size_t bytes) {
    struct state state = absorbed(key, text, bytes, 0, 1);
    state.v2 ^= 0xff;
    return squeezed(&state, 3);
}

void siphash_name(const struct siphash_key *key, const void *text, size_t bytes, uint8_t out[SIPHASH_BYTES]) {
    struct state state = absorbed(key, text, bytes, 0xee, 2);
    state.v2 ^= 0xee;
    uint64_t words[2] = {htole64(squeezed(&state, 4))};
    state.v1 ^= 0xdd;
    words[1] = htole64(squeezed(&state, 4));
    memcpy(out, words, SIPHASH_BYTES);
}
