// What a connection said last that was found right, so that the same again costs a comparison: most say the same again.
// It is kept with the identity, as bytes; what is longer than that isn't kept, and is judged each time.
#pragma once

#include <string.h>

#include "core/agents/agents.h"
#include "core/agents/rules.h"
#include "router/shard/credential.h"

static inline uint64_t recall_differ(const uint8_t *one, const uint8_t *other) {
    uint64_t words[2];
    memcpy(&words[0], one, sizeof words[0]);
    memcpy(&words[1], other, sizeof words[1]);
    return words[0] ^ words[1];
}
// As memcmp, for names, of which most have 8 to 32 bytes; no call for these.
bool recall_same_other(const uint8_t *one, const uint8_t *other, size_t bytes);
static inline __attribute__((always_inline)) bool recall_same(const void *one, const void *other,
                                                              size_t bytes) {
    enum { WORD = sizeof(uint64_t) };
    const uint8_t *left = one, *right = other;
    if (bytes < WORD || bytes > (size_t)4 * WORD)
        return recall_same_other(left, right, bytes);
    uint64_t differ = recall_differ(left, right) | recall_differ(left + bytes - WORD, right + bytes - WORD);
    if (bytes > (size_t)2 * WORD)
        differ |= recall_differ(left + WORD, right + WORD) |
                  recall_differ(left + bytes - 2 * WORD, right + bytes - 2 * WORD);
    return differ == 0;
}

// Where it is kept: by the ends of its names, which tell those of one kind apart. NULL: it has a target without a name, or no
// method's name, and so isn't kept.
static inline struct recalled_call *recall_place(struct identity *identity,
                                                 const struct rules_message *asked) {
    size_t method_bytes = asked->method_bytes, target_bytes = asked->target.bytes;
    if (!method_bytes || (!target_bytes && asked->target.given))
        return NULL;
    unsigned last = (uint8_t)asked->method[method_bytes - 1];
    last += target_bytes ? (uint8_t)asked->target.text[target_bytes - 1] : 0;
    return &identity->calls[last % RECALLED_CALLS];
}

// The lengths of both names; and whether more than the call is judged of this method.
enum { RECALLED_TARGET_AT = 16, RECALLED_MORE = 1 << 15 };

// A call whose address is params.targetAgent, or its method alone, that was found right.
// Nothing of what is registered decides it. One of which more is judged isn't found without RECALLED_MORE in `also`.
static inline __attribute__((always_inline)) bool recall_call(struct identity *identity,
                                                              const struct user *user,
                                                              const struct rules_message *asked,
                                                              uint32_t also) {
    const struct recalled_call *last = recall_place(identity, asked);
    size_t method_bytes = asked->method_bytes, target_bytes = asked->target.bytes;
    uint32_t shape = (uint32_t)method_bytes | (uint32_t)target_bytes << RECALLED_TARGET_AT;
    return last && last->user == user && (last->shape & ~also) == shape &&
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
