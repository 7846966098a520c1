#include "router/rights/authz_cache.h"

#include <assert.h>

#include "core/rights/rights.h"

bool authz_cache_same_rest(const struct authz_cache_text *text, const uint8_t *json) {
    assert(text->rest > 0 && text->rest <= AUTHZ_CACHE_TEXT_BYTES_MAX - AUTHZ_CACHE_BLOCK_BYTES);
    return memcmp(text->json + AUTHZ_CACHE_BLOCK_BYTES, json + AUTHZ_CACHE_BLOCK_BYTES, text->rest) == 0;
}

// Returns the cache of an identity, and makes it if there is none. Returns NULL without quota.
static struct authz_cache *authz_cache_of(struct quota *quota, struct identity *identity) {
    if (!identity->authz_cache)
        identity->authz_cache = quota_take_zeroed(quota, 1, sizeof *identity->authz_cache);
    return identity->authz_cache;
}

// Keeps a text. Returns false if the text is too long.
static bool keep_text(struct authz_cache_text *text, const uint8_t *json, size_t bytes) {
    enum { BLOCK = AUTHZ_CACHE_BLOCK_BYTES };
    if (bytes > sizeof text->json)
        return false;
    assert(bytes >= 2 && json[0] == '"' && json[bytes - 1] == '"');
    memset(text->json, 0, sizeof text->json);
    memcpy(text->json, json, bytes);
    text->beyond = bytes < BLOCK ? UINT32_MAX << bytes : 0;
    text->rest = bytes > BLOCK ? (uint32_t)bytes - BLOCK : 0;
    return true;
}

// Keeps a text likewise: a string with an escape is longer than its decoded text.
static bool keep_plain_text(struct authz_cache_text *text, const struct message *message, enum lookup_key key,
                            size_t decoded_bytes) {
    struct span value = message->lookup.value[key];
    return message->lookup.type[key] == JSON_STRING && value.bytes == decoded_bytes + 2 &&
           keep_text(text, message->body + value.at, value.bytes);
}

// The name of an event, and whether the journal is to have a line.
static bool is_more(const struct message *message) {
    return message_method_is(message, "event") || message_method_is(message, "audit/log");
}

void authz_cache_keep_call(struct quota *quota, struct identity *identity, const struct user *user,
                           const struct message *message, const struct rules_message *criteria) {
    struct authz_cache *cache = authz_cache_of(quota, identity);
    if (!cache)
        return;
    struct authz_cache_call *last = authz_cache_place(cache, message);
    uint32_t keys = message->lookup.present & AUTHZ_CACHE_KEYS;
    assert(user && !(keys & ~(1U << KEY_TARGET_AGENT)));
    last->user = NULL;
    if (!criteria->method || !keep_plain_text(&last->method, message, KEY_METHOD, criteria->method_bytes))
        return;
    if (keys && (!criteria->target.text ||
                 !keep_plain_text(&last->target, message, KEY_TARGET_AGENT, criteria->target.bytes)))
        return;
    last->user = user;
    last->keys = keys;
    last->plain = false;
    last->reaches = !rights_reach_all(user);
}

void authz_cache_keep_plain(struct identity *identity, const struct message *message) {
    if (authz_cache_call(identity, message) && !is_more(message))
        authz_cache_place(identity->authz_cache, message)->plain = true;
}

void authz_cache_forget_calls(struct identity *identity) {
    for (unsigned index = 0; identity->authz_cache && index < AUTHZ_CACHE_CALLS; index++)
        identity->authz_cache->calls[index].user = NULL;
}

void authz_cache_keep_source(struct quota *quota, struct identity *identity, const struct agents *agents,
                             const uint8_t *json, size_t bytes) {
    struct authz_cache *cache = authz_cache_of(quota, identity);
    assert(json && bytes > 0);
    if (!cache)
        return;
    struct authz_cache_source *last = &cache->source;
    if (!keep_text(&last->text, json, bytes))
        last->text.json[0] = '\0'; // which is nobody's
    last->changes = agents->changes;
}
