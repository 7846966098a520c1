// What a connection said last that was found right, so that the same again costs a comparison: most say the same again.
// It is kept with the identity, as bytes; what is longer than that isn't kept, and is judged each time.
#pragma once

#include <string.h>

#include "core/agents/agents.h"
#include "core/agents/rules.h"
#include "router/shard/credential.h"

// As memcmp, for names, of which most have 8 to 16 bytes; no call for these.
bool recall_same_other(const uint8_t *one, const uint8_t *other, size_t bytes);
static inline __attribute__((always_inline)) bool recall_same(const void *one, const void *other,
                                                              size_t bytes) {
    const uint8_t *left = one, *right = other;
    uint64_t words[4];
    if (bytes < sizeof *words || bytes > 2 * sizeof *words)
        return recall_same_other(left, right, bytes);
    memcpy(&words[0], left, sizeof *words);
    memcpy(&words[1], right, sizeof *words);
    memcpy(&words[2], left + bytes - sizeof *words, sizeof *words);
    memcpy(&words[3], right + bytes - sizeof *words, sizeof *words);
    return ((words[0] ^ words[1]) | (words[2] ^ words[3])) == 0;
}

// Where it is kept: by the ends of its names, which tell those of one kind apart.
static inline struct recalled_call *recall_place(struct identity *identity,
                                                 const struct rules_message *asked) {
    size_t method_bytes = asked->method_bytes, target_bytes = asked->target.bytes;
    unsigned last = method_bytes ? (uint8_t)asked->method[method_bytes - 1] : 0;
    last += target_bytes ? (uint8_t)asked->target.text[target_bytes - 1] : 0;
    return &identity->calls[last % RECALLED_CALLS];
}

// A call whose address is params.targetAgent, or its method alone. Nothing of what is registered decides it.
static inline bool recall_call(struct identity *identity, const struct user *user,
                               const struct rules_message *asked) {
    const struct recalled_call *last = recall_place(identity, asked);
    size_t method_bytes = asked->method_bytes, target_bytes = asked->target.bytes;
    return last->user == user && method_bytes > 0 && last->has_target == asked->target.given &&
           last->target_bytes == target_bytes && last->method_bytes == method_bytes &&
           recall_same(last->text, asked->method, method_bytes) &&
           recall_same(last->text + method_bytes, asked->target.text, target_bytes);
}
void recall_keep_call(struct identity *identity, const struct user *user, const struct rules_message *asked);

// An agent of its own, as JSON spells it: until any of them changes.
static inline bool recall_source(const struct identity *identity, const struct agents *agents,
                                 const uint8_t *json, size_t bytes) {
    const struct recalled_source *last = &identity->source;
    return last->bytes == bytes && last->changes == agents->changes && recall_same(last->json, json, bytes);
}
void recall_keep_source(struct identity *identity, const struct agents *agents, const uint8_t *json,
                        size_t bytes);
