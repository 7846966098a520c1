#include "router/engine/message/source_agent.h"

#include <assert.h>
#include <string.h>

// Who is at another hub is known there: that hub names the agent besides.
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
        return agent->home->connection == message->peer->name ? SOURCE_OWN : SOURCE_FOREIGN;
    return (message->approved || message->retry) && message->peer->state != PEER_OPEN ? SOURCE_LEFT
                                                                                      : SOURCE_FOREIGN;
}
