#include "router/audit/audit_source.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/subject.h"
#include "core/requests/journal_line.h"
#include "router/engine/shard/identity.h"

static void put_agents(struct shard *shard, struct text *line, uint64_t connection) {
    const struct home *home = agents_home(&shard->agents, connection);
    for (struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, by_home);
        if (agent_is_link(agent))
            continue;
        text_put(line, node == home->agents.next ? "" : ",");
        text_string(line, agent->id, agent->id_bytes);
    }
}

// Puts the agent that its hub names of a source at another hub.
static void put_beyond(struct text *line, const struct annex *beyond) {
    assert(beyond->named_bytes == 0 || beyond->hub);
    if (beyond->named_bytes)
        text_string(line, beyond->named, beyond->named_bytes);
    text_put(line, "]");
    if (beyond->hub) {
        text_put(line, ",\"hub\":");
        text_string(line, beyond->hub, HUB_NAME_BYTES);
    }
}

// Writes the source of a line. `beyond` is the link's where the message has come from another hub; else NULL.
static void write_source(struct shard *shard, struct text *line, uint64_t connection, const struct user *user,
                         const struct annex *beyond) {
    char name[HUB_SESSION_BYTES];
    hub_session(shard->hub, connection, name);
    journal_line_name(line, "source");
    text_put(line, "{\"connection\":");
    text_string(line, name, sizeof name);
    if (user) {
        text_put(line, ",\"user\":");
        text_string(line, user->name, strlen(user->name));
    }
    text_put(line, ",\"agents\":[");
    if (beyond) {
        put_beyond(line, beyond);
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
    const struct annex *beyond = peer->transport->is_link ? peer->annex : NULL;
    write_source(shard, line, peer->name, identity_user(peer), beyond);
}
