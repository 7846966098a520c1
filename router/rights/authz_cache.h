// Caches the last calls of a connection that rights allowed, so that an equal call costs a comparison. A call is kept
// by its fields as in the body, if these have no escapes and aren't long. Other calls are checked each time.
//
// A JSON string tells its own end: a string that begins with all bytes of another, both quotes among them, is the same
// string. No length is therefore compared.
#pragma once

#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include "core/agents/agents.h"
#include "core/agents/rules.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/credential.h"

static_assert((int)AUTHZ_CACHE_BLOCK_BYTES <= (int)BUFFER_SLACK_BYTES,
              "a block that begins inside a body is readable");

// Compares AUTHZ_CACHE_BLOCK_BYTES bytes. Bit i of the result: the bytes are equal at i.
static inline uint32_t authz_cache_alike(const uint8_t *one, const uint8_t *other) {
#if defined(__SSE2__)
    enum { HALF = AUTHZ_CACHE_BLOCK_BYTES / 2 };
    __m128i low = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)one),
                                 _mm_loadu_si128((const __m128i *)(const void *)other));
    __m128i high = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(const void *)(one + HALF)),
                                  _mm_loadu_si128((const __m128i *)(const void *)(other + HALF)));
    return (uint32_t)_mm_movemask_epi8(low) | (uint32_t)_mm_movemask_epi8(high) << HALF;
#else
    uint32_t alike = 0;
    for (unsigned at = 0; at < AUTHZ_CACHE_BLOCK_BYTES; at++)
        alike |= (uint32_t)(one[at] == other[at]) << at;
    return alike;
#endif
}
// Compares the bytes behind the first block.
bool authz_cache_same_rest(const struct authz_cache_text *text, const uint8_t *json);
// Returns whether the value at `json` is this text.
static inline __attribute__((always_inline)) bool authz_cache_same(const struct authz_cache_text *text,
                                                                   const uint8_t *json) {
    return (authz_cache_alike(text->json, json) | text->beyond) == UINT32_MAX &&
           (__builtin_expect(!text->rest, true) || authz_cache_same_rest(text, json));
}

// The fields that decide on a call, besides the method and, without a target, the agent that its connection
// is attached to.
enum { AUTHZ_CACHE_KEYS = 1U << KEY_TARGET_AGENT | 1U << KEY_TOOL | 1U << KEY_APPROVER };

// Returns the place of a call in the cache, chosen by the last letters of its method and target: these differ mostly.
static inline struct authz_cache_call *authz_cache_place(struct authz_cache *cache,
                                                         const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    struct span method = lookup->value[KEY_METHOD], target = lookup->value[KEY_TARGET_AGENT];
    unsigned last = message->body[method.at + method.bytes - 2];
    assert(lookup->verdict == LOOKUP_GOOD && lookup_has(lookup, KEY_METHOD));
    if (lookup_has(lookup, KEY_TARGET_AGENT))
        last += message->body[target.at + target.bytes - 2];
    return &cache->calls[last % AUTHZ_CACHE_CALLS];
}

// Returns the cached call that equals the message, of the same user; then the message is allowed, too. NULL: there is
// none. Rights don't depend on the registry, so a cached call stays valid.
static inline __attribute__((always_inline)) const struct authz_cache_call *
authz_cache_call(const struct identity *identity, const struct message *message) {
    const struct lookup *lookup = &message->lookup;
    if (!identity->authz_cache || !identity->user)
        return NULL;
    const struct authz_cache_call *last = authz_cache_place(identity->authz_cache, message);
    uint32_t keys = lookup->present & AUTHZ_CACHE_KEYS;
    if (last->user != identity->user || last->keys != keys ||
        !authz_cache_same(&last->method, message->body + lookup->value[KEY_METHOD].at))
        return NULL;
    if (keys && !authz_cache_same(&last->target, message->body + lookup->value[KEY_TARGET_AGENT].at))
        return NULL;
    return last;
}
// Keeps an allowed call, if there is memory.
void authz_cache_keep_call(struct quota *quota, struct identity *identity, const struct user *user,
                           const struct message *message, const struct rules_message *criteria);
// Notes, if the call is kept, that no other field decides and that an agent answers the method.
void authz_cache_keep_plain(struct identity *identity, const struct message *message);
// Forgets all calls: the target of calls without a target has changed.
void authz_cache_forget_calls(struct identity *identity);

// Returns whether the string at `json` is the sourceAgent that was found to be the connection's own, and the registry
// is unchanged.
static inline bool authz_cache_source(const struct identity *identity, const struct agents *agents,
                                      const uint8_t *json) {
    if (!identity->authz_cache)
        return false;
    const struct authz_cache_source *last = &identity->authz_cache->source;
    return last->changes == agents->changes && authz_cache_same(&last->text, json);
}
// Keeps such a sourceAgent, if there is memory.
void authz_cache_keep_source(struct quota *quota, struct identity *identity, const struct agents *agents,
                             const uint8_t *json, size_t bytes);
