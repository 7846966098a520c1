#include "router/forwarding/outbound_identity.h"

#include <assert.h>
#include <string.h>

#include "router/engine/message/source_agent.h"
#include "router/engine/shard/identity.h"

// Whether it is said in the name in which that connection has said something before, written the same way.
static bool is_vouched(const struct shard *shard, const struct message *message) {
    const struct across *across = &shard->across;
    struct span value = message->lookup.value[KEY_SOURCE_AGENT];
    return across->vouched_connection == message->peer->name &&
           across->vouched_changes == shard->agents.changes &&
           message->lookup.type[KEY_SOURCE_AGENT] == JSON_STRING &&
           value.bytes == across->vouched_bytes + 2 &&
           memcmp(message->body + value.at + 1, across->vouched, across->vouched_bytes) == 0;
}

// What was written with escapes isn't found by its text, and for who has left it is asked each time.
static void note_vouched(struct shard *shard, const struct message *message, const char *name, size_t bytes,
                         bool is_there) {
    struct across *across = &shard->across;
    bool is_plain = is_there && !memchr(name, '\\', bytes) && !memchr(name, '"', bytes);
    assert(bytes > 0 && bytes <= AGENT_ID_BYTES_MAX);
    across->vouched_connection = is_plain ? message->peer->name : 0;
    across->vouched_changes = shard->agents.changes;
    across->vouched_bytes = (uint32_t)bytes;
    memcpy(across->vouched, name, bytes);
}

void outbound_identity_write(struct shard *shard, const struct message *message,
                             struct hub_header_source *out) {
    struct across *across = &shard->across;
    const struct user *user = identity_user(message->peer);
    char name[AGENT_ID_BYTES_MAX];
    size_t bytes = 0;
    *out = (struct hub_header_source){.user = user ? user->name : NULL, .agent = across->vouched};
    if (!lookup_has(&message->lookup, KEY_SOURCE_AGENT))
        return;
    if (is_vouched(shard, message)) {
        out->agent_bytes = across->vouched_bytes;
        return;
    }
    enum source_agent source = source_agent_read(shard, message, name, &bytes);
    if (source == SOURCE_FOREIGN)
        return;
    note_vouched(shard, message, name, bytes, source == SOURCE_OWN);
    out->agent_bytes = bytes;
}
