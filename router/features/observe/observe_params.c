#include "router/features/observe/observe_params.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/limits.h"
#include "router/engine/message/message.h"
#include "router/engine/request/refuse.h"

void observe_params_refuse(struct shard *shard, const struct message *message, const char *key,
                           const char *expected) {
    char field[32];
    int bytes = snprintf(field, sizeof field, "params.%s", key);
    assert(bytes > 0 && (size_t)bytes < sizeof field);
    (void)bytes;
    refuse_field(shard, message, field, expected);
}

// Returns the first of these keys that occurs twice in the params; NULL if none does.
static const char *repeated_key(const struct message *message, const char *const *keys) {
    struct json_walk walk;
    uint32_t seen = 0;
    json_walk_begin(&walk, message->body, message->lookup.value[KEY_PARAMS]);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        unsigned at = 0;
        while (keys[at] && !json_string_is(message->body, item.key, keys[at]))
            at++;
        assert(at < 32);
        if (keys[at] && seen & UINT32_C(1) << at)
            return keys[at];
        seen |= UINT32_C(1) << at;
    }
    return NULL;
}

bool observe_params_check(struct shard *shard, const struct message *message, const char *const *keys) {
    if (!lookup_has(&message->lookup, KEY_PARAMS))
        return true;
    if (message->lookup.type[KEY_PARAMS] != JSON_OBJECT) {
        refuse_field(shard, message, "params", "an object");
        return false;
    }
    const char *key = repeated_key(message, keys);
    if (key)
        observe_params_refuse(shard, message, key, "once");
    return key == NULL;
}

bool observe_params_pattern(struct shard *shard, const struct message *message, const char *key, char *out,
                            size_t capacity, size_t *bytes) {
    struct json_item item = message_param(message, key);
    assert(capacity > 0);
    *bytes = 0;
    if (item.type == JSON_NONE)
        return true;
    if (item.type == JSON_STRING)
        *bytes = json_string_decode(message->body, item.value, out, capacity);
    if (*bytes > 0 && *bytes != SIZE_MAX && !memchr(out, '*', *bytes - 1))
        return true;
    observe_params_refuse(shard, message, key, "a name, or a prefix and * at its end");
    return false;
}

// Returns whether a source or target may have this name: an agentId, # and a connection's number, or @ and a capability.
static bool is_peer_name(const char *text, size_t bytes) {
    if (bytes > 1 && text[0] == '@')
        return true;
    if (bytes > 1 && text[0] == '#') {
        size_t at = 1;
        while (at < bytes && text[at] >= '0' && text[at] <= '9')
            at++;
        return at == bytes;
    }
    return agent_id_valid(text, bytes);
}

// Returns whether a name that a source or target may have begins with this prefix.
static bool is_peer_prefix(const char *text, size_t bytes) {
    char longer[AGENT_ID_BYTES_MAX + 1];
    if (is_peer_name(text, bytes))
        return true;
    if (bytes >= sizeof longer)
        return false;
    memcpy(longer, text, bytes);
    longer[bytes] = '0';
    return is_peer_name(longer, bytes + 1);
}

bool observe_params_agent(struct shard *shard, const struct message *message, const char *key, char *out,
                          size_t capacity, size_t *bytes) {
    if (!observe_params_pattern(shard, message, key, out, capacity, bytes))
        return false;
    bool is_prefix = *bytes > 0 && out[*bytes - 1] == '*';
    if (*bytes == 0 || (is_prefix ? is_peer_prefix(out, *bytes - 1) : is_peer_name(out, *bytes)))
        return true;
    observe_params_refuse(shard, message, key, "an agentId, or a prefix and * at its end");
    return false;
}

bool observe_params_number(struct shard *shard, const struct message *message, const char *key,
                           uint64_t least, uint64_t most, uint64_t *number) {
    struct json_item item = message_param(message, key);
    char expected[64];
    if (item.type == JSON_NONE ||
        (item.type == JSON_NUMBER && json_number_whole(message->body, item.value, number) &&
         *number >= least && *number <= most))
        return true;
    snprintf(expected, sizeof expected, "a number from %llu to %llu", (unsigned long long)least,
             (unsigned long long)most);
    observe_params_refuse(shard, message, key, expected);
    return false;
}
