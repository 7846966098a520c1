#include "router/engine/message/message.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/exchange.h"

size_t message_method_begin(const struct message *message, char *out, size_t capacity) {
    return json_string_decode_begin(message->body, message->lookup.value[KEY_METHOD], out, capacity);
}

struct json_item message_param(const struct message *message, const char *key) {
    if (!lookup_has(&message->lookup, KEY_PARAMS) || message->lookup.type[KEY_PARAMS] != JSON_OBJECT)
        return (struct json_item){0};
    return json_member(message->body, message->lookup.value[KEY_PARAMS], key);
}

size_t message_room(const struct shard *shard, const struct message *message) {
    return message->exchange ? exchange_room(shard, message->exchange) : shard_limits(shard)->frame_bytes_max;
}

void message_reply(struct shard *shard, const struct message *message, struct text *result) {
    assert(result->failed || result->length > 0);
    struct reply_to to = message_reply_to(message);
    if (message_is_request(message) && result->failed)
        reply_failed(shard, message->peer, to);
    else if (message_is_request(message))
        reply_result(shard, message->peer, to, result->bytes, result->length);
    text_deinit(result);
}

enum governance message_required_level(const struct shard *shard, const struct message *message) {
    enum governance level = message->frame->unit->directives.governance;
    bool has_passed = message->origin && shard->hub->start_settings.approval_level &&
                      level >= shard->hub->start_settings.approval_level;
    return has_passed ? GOVERNANCE_AUTONOMOUS : level;
}

enum parcel_lane message_lane(const struct message *message) {
    if (!lookup_has(&message->lookup, KEY_PRIORITY) || message->lookup.type[KEY_PRIORITY] != JSON_STRING)
        return LANE_NORMAL;
    struct span priority = message->lookup.value[KEY_PRIORITY];
    bool high = json_string_is(message->body, priority, "high") ||
                json_string_is(message->body, priority, "critical");
    return high ? LANE_HIGH : LANE_NORMAL;
}

void message_narrow(struct message *message) {
    enum {
        NAMING = 1U << KEY_TARGET_AGENT | 1U << KEY_SOURCE_AGENT | 1U << KEY_EVENT | 1U << KEY_TOOL |
                 1U << KEY_APPROVER | 1U << KEY_AGENT_ID | 1U << KEY_TOKEN | 1U << KEY_AGENT_SECRET |
                 1U << KEY_CHECKPOINT | 1U << KEY_DECISION | 1U << KEY_FEEDBACK | 1U << KEY_COMMAND
    };
    message->lookup.present &= ~(uint32_t)NAMING;
}

// --- The source's own agent

// Returns whether the remote hub vouches for the agent: that hub names the source's agent besides.
static bool is_authenticated(const struct origin *origin, const char *name, size_t bytes) {
    assert(origin->agent_bytes <= AGENT_ID_BYTES_MAX);
    return bytes && origin->agent_bytes == bytes && memcmp(origin->agent, name, bytes) == 0;
}

enum source_agent source_agent_read(const struct shard *shard, const struct message *message,
                                    char name[AGENT_ID_BYTES_MAX], size_t *bytes) {
    const struct lookup *lookup = &message->lookup;
    assert(lookup_has(lookup, KEY_SOURCE_AGENT));
    *bytes = 0;
    if (lookup->type[KEY_SOURCE_AGENT] == JSON_STRING)
        *bytes = json_string_decode(message->body, lookup->value[KEY_SOURCE_AGENT], name, AGENT_ID_BYTES_MAX);
    *bytes = *bytes == SIZE_MAX ? 0 : *bytes;
    if (message->origin)
        return is_authenticated(message->origin, name, *bytes) ? SOURCE_OWN : SOURCE_FOREIGN;
    const struct agent *agent = *bytes ? agents_find(&shard->agents, name, *bytes) : NULL;
    if (agent)
        return agent->registrant->connection == message->peer->connection_id ? SOURCE_OWN : SOURCE_FOREIGN;
    return (message->approved || message->retry) && message->peer->state != PEER_OPEN ? SOURCE_LEFT
                                                                                      : SOURCE_FOREIGN;
}
