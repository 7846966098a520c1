#include "router/registry/directory.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/feature_call.h"
#include "router/registry/agent_params.h"
#include "router/rights/authz.h"

// At which hub an agent is, where that is told.
struct where {
    bool is_known;
    const struct hub_name *hub; // NULL: this one has none, since it has no link
};

static void put_where(struct text *out, const struct shard *shard, const struct where *where) {
    const struct hub_cluster *cluster = &shard->hub->start_settings.cluster;
    if (!where->is_known)
        return;
    text_put(out, ",\"hub\":");
    if (where->hub)
        text_string(out, where->hub->text, where->hub->bytes);
    else
        text_put(out, "null");
    text_put(out, ",\"hubName\":");
    if (hub_has_cluster(shard->hub))
        text_string(out, cluster->hub_name, strlen(cluster->hub_name));
    else
        text_put(out, "null");
}

// The most bytes of a member `latency`. Its numbers may grow while a list is made, so that the list becomes a little
// longer.
enum { LATENCY_BYTES_MAX = 160 };

static size_t write_latency(const struct shard *shard, const struct agent *agent,
                            char out[LATENCY_BYTES_MAX]) {
    struct latency_view view = {0};
    if (agent->latency)
        latency_read(agent->latency, shard_minute(shard), &view);
    if (view.count == 0) {
        static const char none[] = ",\"latency\":null";
        memcpy(out, none, sizeof none - 1);
        return sizeof none - 1;
    }
    int bytes = snprintf(
        out, LATENCY_BYTES_MAX,
        ",\"latency\":{\"count\":%" PRIu64 ",\"errors\":%" PRIu64 ",\"p50Ms\":%.3f,\"p99Ms\":%.3f}",
        view.count, view.errors, latency_quantile(&view, 0.5) / 1000, latency_quantile(&view, 0.99) / 1000);
    assert(bytes > 0 && bytes < LATENCY_BYTES_MAX);
    return (size_t)bytes;
}

static void put_agent(struct text *out, const struct shard *shard, const struct agent *agent,
                      const struct where *where) {
    text_put(out, "{\"agentId\":");
    text_string(out, agent->id, agent->id_bytes);
    text_put(out, ",\"capabilities\":");
    text_add(out, agent->capabilities->text, agent->capabilities->bytes);
    text_put(out, ",\"governanceLevel\":\"");
    text_put(out, governance_text(agent->governance));
    text_put(out, "\",\"connectedSince\":");
    text_number(out, (int64_t)agent->connected_since_ms);
    text_put(out, ",\"pending\":");
    text_number(out, hub_pending(shard->hub, agent->registrant->connection));
    char latency[LATENCY_BYTES_MAX];
    text_add(out, latency, write_latency(shard, agent, latency));
    feature_describe_agent(shard, agent, out);
    if (agent->initialize_result) {
        text_put(out, ",\"initialize\":");
        text_add(out, agent->initialize_result->text, agent->initialize_result->bytes);
    }
    put_where(out, shard, where);
    text_put(out, "}");
}

// An iteration over the agents that hub/agents asks for: all, or the members of one group.
struct selection {
    const struct list *agents;
    const struct list *node;
    const struct user *user; // of the peer that asks; NULL: there is no users file
    bool for_remote;         // another hub asks
    bool is_group;
    const struct group *group; // or NULL
    size_t position;
};

// Selects all agents, or with bytes those that have this capability.
static struct selection select_agents(struct shard *shard, const struct user *user, const char *capability,
                                      size_t bytes) {
    const struct list *agents = &shard->agents.all;
    struct selection selection = {
        .agents = agents, .node = agents->next, .user = user, .is_group = bytes > 0};
    assert(capability || bytes == 0);
    if (selection.is_group)
        selection.group = groups_find(&shard->agents.groups, GROUP_CAPABILITY, capability, bytes);
    return selection;
}

static const struct agent *next_of_all(struct selection *selection) {
    if (selection->is_group)
        return selection->group ? group_next(selection->group, &selection->position) : NULL;
    const struct list *node = selection->node;
    assert(node && !selection->group);
    if (node == selection->agents)
        return NULL;
    selection->node = node->next;
    return list_entry(node, struct agent, link);
}

// The first instance of a child stands for all.
static bool is_shown(const struct selection *selection, const struct agent *agent) {
    assert(agent->id_bytes > 0);
    if (selection->for_remote && agent->local_only)
        return false;
    return (!agent->pool_bytes || agent->pool_bytes == agent->id_bytes) && authz_sees(selection->user, agent);
}

static const struct agent *next_agent(struct selection *selection) {
    const struct agent *agent = next_of_all(selection);
    while (agent && !is_shown(selection, agent))
        agent = next_of_all(selection);
    return agent;
}

// How many bytes a program's entry has beside those of each agent, or some more.
static size_t program_bytes(const struct agent *agent) {
    enum { DESCRIPTION_BYTES = 2 * 340 };
    if (!agent->child)
        return 0;
    return DESCRIPTION_BYTES +
           (agent->initialize_result ? sizeof ",\"initialize\":" + agent->initialize_result->bytes : 0);
}

// How many bytes put_agent writes, or some more.
static size_t agent_bytes(const struct shard *shard, const struct agent *agent, bool with_hub) {
    static const char fixed[] =
        "{\"agentId\":\"\",\"capabilities\":,\"governanceLevel\":\"\",\"connectedSince\":,\"pending\":}";
    char digits[20];
    enum {
        WHERE_BYTES = sizeof ",\"hub\":\"\",\"hubName\":\"\"" + HUB_NAME_BYTES_MAX + 6 * HUB_DISPLAY_BYTES_MAX
    };
    size_t where_bytes = with_hub ? WHERE_BYTES : 0;
    char latency[LATENCY_BYTES_MAX];
    return sizeof fixed - 1 + write_latency(shard, agent, latency) + where_bytes + agent->id_bytes +
           agent->capabilities->bytes + strlen(governance_text(agent->governance)) +
           text_digits(digits, agent->connected_since_ms) +
           text_digits(digits, (uint64_t)hub_pending(shard->hub, agent->registrant->connection)) +
           program_bytes(agent);
}

// How many bytes a list of them has, or so many more than there is room for that it doesn't matter.
static size_t list_bytes(const struct shard *shard, struct selection selection, size_t room, bool with_hub) {
    size_t bytes = sizeof "{\"agents\":[]}" - 1, comma = 0;
    for (const struct agent *agent; bytes <= room && (agent = next_agent(&selection)); comma = 1)
        bytes += comma + agent_bytes(shard, agent, with_hub);
    return bytes;
}

static void put_every_agent(struct text *out, const struct shard *shard, struct selection selection,
                            const struct where *where) {
    text_put(out, "{\"agents\":[");
    const char *between = "";
    for (const struct agent *agent; (agent = next_agent(&selection)); between = ",") {
        text_put(out, between);
        put_agent(out, shard, agent, where);
    }
    text_put(out, "]");
}

bool directory_each(struct shard *shard, const struct user *user, const char *capability, size_t bytes,
                    const struct hub_name *hub, bool (*put)(void *context, const struct text *agent),
                    void *context) {
    struct selection selection = select_agents(shard, user, capability, bytes);
    bool ok = true;
    selection.for_remote = true;
    for (const struct agent *agent; ok && (agent = next_agent(&selection));) {
        struct text text;
        text_init(&text);
        put_agent(&text, shard, agent, &(struct where){true, hub});
        ok = !text.failed && put(context, &text);
        text_deinit(&text);
    }
    return ok;
}

// --- Of this hub

// Agents may describe themselves by more than a frame holds, and what they owe may grow meanwhile. No list is
// written in vain: a batch may ask for a thousand.
static void answer_here(struct shard *shard, const struct message *message, struct selection selection,
                        bool in_cluster) {
    size_t room = message_room(shard, message), bytes = list_bytes(shard, selection, room, in_cluster);
    struct reply_to to = message_reply_to(message);
    if (bytes > room) {
        reply_too_large(shard, message->peer, to);
        return;
    }
    if (!reply_has_memory(shard, message->peer, to, bytes))
        return;
    struct text result;
    text_init(&result);
    text_reserve(&result, bytes);
    put_every_agent(&result, shard, selection, &(struct where){in_cluster, NULL});
    text_put(&result, in_cluster ? ",\"complete\":true}" : "}");
    if (result.failed || result.length <= room) {
        message_reply(shard, message, &result);
        return;
    }
    text_deinit(&result);
    reply_too_large(shard, message->peer, to);
}

// --- Of all hubs

static void query_hubs(struct shard *shard, const struct message *message, const char *capability,
                       size_t capability_bytes) {
    struct reply_to to = message_reply_to(message);
    struct directory_query *query = quota_take(&shard->quota, sizeof *query + to.id_bytes + capability_bytes +
                                                                  1); // + 1: never of nothing
    if (!query) {
        refuse_without_quota(shard, message, NULL);
        return;
    }
    *query = (struct directory_query){.exchange = to.exchange,
                                      .bytes_max = message_room(shard, message),
                                      .user = authz_user(shard, message->peer),
                                      .id_bytes = to.id_bytes,
                                      .capability_bytes = (uint32_t)capability_bytes};
    query->mail.connection = message->peer->connection_id;
    memcpy(query->texts, to.id, to.id_bytes);
    memcpy(query->texts + to.id_bytes, capability, capability_bytes);
    list_init(&query->link);
    text_init(&query->remote_agents);
    message->peer->awaited++;
    shard->remote_queries_out++;
    query->mail.kind = MAIL_DIRECTORY_QUERY;
    if (shard->index == 0)
        list_append(&shard->directory_queries, &query->link);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, 0), &query->mail);
}

static void add_agents(struct shard *shard, struct directory_query *query, const uint8_t *text,
                       struct span agents) {
    struct text *remote_agents = &query->remote_agents;
    size_t total = remote_agents->length + 1 + agents.bytes;
    query->too_large |= total > query->bytes_max;
    if (query->too_large || query->overloaded || agents.bytes == 0)
        return;
    uint64_t more = 2 * (uint64_t)(1 + agents.bytes); // a text grows by doubling
    query->overloaded = !buffer_budget_take(&shard->hub->budget, more, BUDGET_MESSAGE);
    if (query->overloaded)
        return;
    query->counted_bytes += more;
    text_put(remote_agents, remote_agents->length ? "," : "");
    text_add(remote_agents, (const char *)text + agents.at, agents.bytes);
}

// The other hub has left out agents that its own file doesn't show. This hub's file counts, too.
void directory_query_add(struct shard *shard, struct directory_query *query, const uint8_t *array,
                         uint32_t bytes) {
    struct json_walk walk;
    assert(bytes >= 2 && array[0] == '[' && array[bytes - 1] == ']');
    uint32_t end = bytes - 1, at = json_skip_space(array, 1, end);
    if (!query->user || users_rights(query->user)->admin) {
        add_agents(shard, query, array, (struct span){at, end - at});
        return;
    }
    json_walk_begin(&walk, array, (struct span){0, bytes});
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (item.type == JSON_OBJECT && authz_sees_entry(query->user, array, item.value))
            add_agents(shard, query, array, item.value);
}

static void answer_query(struct shard *shard, struct peer *peer, struct reply_to to,
                         struct directory_query *query) {
    struct selection selection = select_agents(shard, authz_user(shard, peer),
                                               directory_query_capability(query), query->capability_bytes);
    size_t tail = sizeof ",\"complete\":false" + query->remote_agents.length;
    // In a batch, other answers may have taken of the room since the request came.
    size_t room = to.exchange ? exchange_room(shard, to.exchange) : query->bytes_max;
    size_t bytes = list_bytes(shard, selection, room, true) + tail;
    struct text result;
    if (query->too_large || bytes > room) {
        reply_too_large(shard, peer, to);
        return;
    }
    if (!reply_has_memory(shard, peer, to, bytes))
        return;
    text_init(&result);
    put_every_agent(&result, shard, selection, &(struct where){true, query->hub.bytes ? &query->hub : NULL});
    if (query->remote_agents.length && result.length) {
        bool any = result.bytes[result.length - 2] != '[';
        result.length--; // the bracket
        text_put(&result, any ? "," : "");
        text_add(&result, query->remote_agents.bytes, query->remote_agents.length);
        text_put(&result, "]");
    }
    text_put(&result, query->partial ? ",\"complete\":false}" : ",\"complete\":true}");
    if (result.failed || query->remote_agents.failed)
        reply_failed(shard, peer, to);
    else if (result.length > room) // the numbers of pending requests may have grown
        reply_too_large(shard, peer, to);
    else
        reply_result(shard, peer, to, result.bytes, result.length);
    text_deinit(&result);
}

static void return_query(struct shard *shard, struct directory_query *query) {
    struct reply_to to = {query->texts, query->id_bytes, query->exchange};
    struct peer *peer = peer_find(shard, query->mail.connection);
    assert(shard->remote_queries_out > 0);
    shard->remote_queries_out--;
    if (peer) {
        assert(peer->awaited > 0);
        peer->awaited--;
        if (query->overloaded)
            reply_without_memory(shard, peer, to);
        else
            answer_query(shard, peer, to, query);
        peer_settle(shard, peer);
    } else {
        reply_missed(shard, query->mail.connection, to);
    }
    text_deinit(&query->remote_agents);
    if (query->counted_bytes)
        buffer_budget_give(&shard->hub->budget, query->counted_bytes);
    quota_give(&shard->quota, query);
}

void directory_query_end(struct shard *shard, struct directory_query *query) {
    uint32_t home = connection_shard(query->mail.connection);
    assert(shard->index == 0);
    list_remove(&query->link);
    if (home == 0)
        return_query(shard, query);
    else
        mailbox_post(hub_mailbox(shard->hub, 0, home), &query->mail);
}

void directory_query_arrived(struct shard *shard, struct mail *mail) {
    struct directory_query *query = list_entry(mail, struct directory_query, mail);
    assert(mail->kind == MAIL_DIRECTORY_QUERY);
    if (connection_shard(mail->connection) == shard->index)
        return_query(shard, query);
    else
        list_append(&shard->directory_queries, &query->link);
}

void directory_agents(struct shard *shard, const struct message *message) {
    char capability[METHOD_BYTES_MAX];
    size_t bytes; // 0: all agents are asked for
    bool in_cluster;
    if (!agent_params_read_capability(shard, message, capability, sizeof capability, &bytes) ||
        !agent_params_read_cluster(shard, message, &in_cluster) || !message_is_request(message))
        return;
    assert(bytes <= sizeof capability);
    if (in_cluster && hub_has_cluster(shard->hub))
        query_hubs(shard, message, capability, bytes);
    else
        answer_here(shard, message, select_agents(shard, authz_user(shard, message->peer), capability, bytes),
                    in_cluster);
}
