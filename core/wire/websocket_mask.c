// The bytes are unmasked in blocks, which are vectors if the processor has vectors. A block is read whole before it is
// written, and is written before the place that is read next, so source and target may overlap.
#include "core/wire/websocket_mask.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_BYTES = 16, STEP_BYTES = 2 * BLOCK_BYTES, WORD_BYTES = sizeof(uint64_t) };

typedef uint64_t block __attribute__((vector_size(BLOCK_BYTES)));

static const uint64_t high_bits = UINT64_C(0x8080808080808080);

static uint64_t word_of(const uint8_t mask[WEBSOCKET_MASK_BYTES]) {
    uint8_t twice[WORD_BYTES];
    uint64_t word;
    memcpy(twice, mask, WEBSOCKET_MASK_BYTES);
    memcpy(twice + WEBSOCKET_MASK_BYTES, mask, WEBSOCKET_MASK_BYTES);
    memcpy(&word, twice, sizeof word);
    return word;
}

static void turn(uint8_t mask[WEBSOCKET_MASK_BYTES], size_t count) {
    uint8_t twice[2 * WEBSOCKET_MASK_BYTES];
    memcpy(twice, mask, WEBSOCKET_MASK_BYTES);
    memcpy(twice + WEBSOCKET_MASK_BYTES, mask, WEBSOCKET_MASK_BYTES);
    memcpy(mask, twice + count % WEBSOCKET_MASK_BYTES, WEBSOCKET_MASK_BYTES);
}

bool websocket_mask_off(uint8_t *to, const uint8_t *from, size_t count, uint8_t mask[WEBSOCKET_MASK_BYTES]) {
    assert(to <= from);
    uint64_t word = word_of(mask), seen = 0;
    block mask_block = {word, word}, all = {0};
    size_t at = 0;
    for (; count - at >= STEP_BYTES; at += STEP_BYTES) {
        block first, second;
        memcpy(&first, from + at, sizeof first);
        memcpy(&second, from + at + BLOCK_BYTES, sizeof second);
        first ^= mask_block;
        second ^= mask_block;
        memcpy(to + at, &first, sizeof first);
        memcpy(to + at + BLOCK_BYTES, &second, sizeof second);
        all |= first | second;
    }
    for (; count - at >= WORD_BYTES; at += WORD_BYTES) {
        uint64_t bytes;
        memcpy(&bytes, from + at, sizeof bytes);
        bytes ^= word;
        memcpy(to + at, &bytes, sizeof bytes);
        seen |= bytes;
    }
    for (; at < count; at++)
        seen |= to[at] = from[at] ^ mask[at % WEBSOCKET_MASK_BYTES];
    turn(mask, count);
    return ((seen | all[0] | all[1]) & high_bits) == 0;
}
