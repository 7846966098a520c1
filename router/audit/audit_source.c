#include "router/audit/audit_source.h"

#include <assert.h>
#include <string.h>

#include "core/requests/journal_line.h"
#include "router/engine/shard/identity.h"

static void put_agents(struct shard *shard, struct text *line, uint64_t connection) {
    const struct home *home = agents_home(&shard->agents, connection);
    for (struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_home);
        text_put(line, node == home->agents.next ? "" : ",");
        text_string(line, agent->id, agent->id_bytes);
    }
}

// Of the agents of a source at another hub its hub names one.
static void put_remote(struct text *line, const struct origin *origin) {
    if (origin->agent_bytes)
        text_string(line, origin->agent, origin->agent_bytes);
    text_put(line, "]");
    if (origin->hub.bytes) {
        text_put(line, ",\"hub\":");
        text_string(line, origin->hub.text, origin->hub.bytes);
    }
}

// Who it is about. `origin`: of what came from another hub; else NULL.
static void write_source(struct shard *shard, struct text *line, uint64_t connection, const struct user *user,
                         const struct origin *origin) {
    char name[HUB_SESSION_BYTES];
    assert(connection);
    hub_session(shard->hub, connection, name);
    journal_line_name(line, "source");
    text_put(line, "{\"connection\":");
    text_string(line, name, sizeof name);
    if (user) {
        text_put(line, ",\"user\":");
        text_string(line, user->name, strlen(user->name));
    }
    text_put(line, ",\"agents\":[");
    if (origin) {
        put_remote(line, origin);
    } else {
        put_agents(shard, line, connection);
        text_put(line, "]");
    }
    text_put(line, "}");
}

void audit_put_user(struct shard *shard, struct text *line, uint64_t connection, const struct user *user) {
    write_source(shard, line, connection, user, NULL);
}

void audit_put_peer(struct shard *shard, struct text *line, const struct peer *peer) {
    write_source(shard, line, peer->name, identity_user(peer), NULL);
}

void audit_put_source(struct shard *shard, struct text *line, const struct message *message) {
    write_source(shard, line, message->peer->name, identity_user(message->peer), message->origin);
}
