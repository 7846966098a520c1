#include "router/features/observe/peer_label.h"

#include <assert.h>
#include <string.h>

#include "core/base/text.h"
#include "router/engine/message/error_target.h"

static void put(struct peer_label *label, const char *text, size_t bytes) {
    assert(bytes <= sizeof label->text);
    memcpy(label->text, text, bytes);
    label->bytes = (uint32_t)bytes;
}

static void put_number(struct peer_label *label, uint64_t connection) {
    assert(connection);
    label->text[0] = '#';
    label->bytes = 1 + (uint32_t)text_digits(label->text + 1, connection);
}

static void put_agent(struct peer_label *label, const struct agent *agent) {
    assert(agent->id_bytes > 0);
    put(label, agent->id, agent->pool_bytes ? agent->pool_bytes : agent->id_bytes);
}

void peer_label_of(struct shard *shard, uint64_t connection, struct peer_label *label) {
    const struct agent *agent = agents_one_at(&shard->agents, connection);
    if (agent)
        put_agent(label, agent);
    else
        put_number(label, connection);
}

const struct agent *peer_label_agent(struct shard *shard, const struct pending *pending) {
    const struct registrant *home = agents_registrant(&shard->agents, pending->target);
    for (const struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_registrant);
        if (agent->tag == pending->agent)
            return agent;
    }
    return NULL;
}

void peer_label_of_target(struct shard *shard, const struct pending *pending, struct peer_label *label) {
    assert(pending->used);
    const struct agent *agent = peer_label_agent(shard, pending);
    if (agent) {
        put_agent(label, agent);
        return;
    }
    bool is_group = error_target_kind(pending) == SUBJECT_CAPABILITY;
    size_t bytes = SIZE_MAX;
    char name[METHOD_BYTES_MAX];
    if (pending->named_target_bytes)
        bytes = error_target_name(pending, name);
    if (bytes == SIZE_MAX || bytes + 1 > sizeof label->text) {
        put_number(label, pending->target);
        return;
    }
    label->text[0] = '@';
    memcpy(label->text + is_group, name, bytes);
    label->bytes = (uint32_t)(bytes + is_group);
}

bool peer_label_matches(const struct peer_label *label, const char *pattern, size_t bytes) {
    assert(label->bytes <= sizeof label->text);
    if (bytes > 0 && pattern[bytes - 1] == '*')
        return label->bytes >= bytes - 1 && memcmp(label->text, pattern, bytes - 1) == 0;
    return label->bytes == bytes && memcmp(label->text, pattern, bytes) == 0;
}
