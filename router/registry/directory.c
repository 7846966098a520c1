#include "router/registry/directory.h"

#include <assert.h>
#include <string.h>

#include "router/engine/request/refuse.h"
#include "router/engine/send/exchange.h"
#include "router/engine/shard/child_record.h"
#include "router/engine/shard/cluster_server.h"
#include "router/registry/agent_params.h"
#include "router/rights/authz.h"

// At which hub an agent is, where that is told.
struct where {
    bool told;
    const struct hub_name *hub; // NULL: this one has no name, since it has no link
};

static void put_child(struct text *out, const struct shard *shard, const struct agent *agent) {
    text_put(out, ",\"child\":{");
    child_record_put(out, shard->hub, agent->child);
    const struct child_record *modern = child_record_modern(shard->hub, agent->child);
    if (modern) {
        text_put(out, ",\"modern\":{");
        child_record_put(out, shard->hub, modern);
        text_put(out, "}");
    }
    text_put(out, "}");
    if (!agent->answer)
        return;
    text_put(out, ",\"initialize\":");
    text_add(out, agent->answer->text, agent->answer->bytes);
}

static void put_where(struct text *out, const struct shard *shard, const struct where *where) {
    const char *name = where->told ? shard->hub->settings.cluster->hub_name : "";
    if (!where->told)
        return;
    text_put(out, ",\"hub\":");
    if (where->hub)
        text_string(out, where->hub->text, where->hub->bytes);
    else
        text_put(out, "null");
    text_put(out, ",\"hubName\":");
    text_string(out, name, strlen(name));
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
    text_number(out, hub_owed(shard->hub, agent->home->connection));
    if (agent->child)
        put_child(out, shard, agent);
    put_where(out, shard, where);
    text_put(out, "}");
}

// The agents that hub/agents asks for: all, or the members of one group; and how far they have been gone
// through.
struct wanted {
    const struct list *all;
    const struct list *node;
    const struct user *user; // who asks; NULL: users aren't on
    bool from_elsewhere;     // at another hub
    bool is_group;
    const struct group *group; // or NULL
    size_t next;
};

// Selects all agents, or with bytes those that have this capability.
static struct wanted wanted_of(struct shard *shard, const struct user *user, const char *capability,
                               size_t bytes) {
    const struct list *all = &shard->agents.all;
    struct wanted wanted = {.all = all, .node = all->next, .user = user, .is_group = bytes > 0};
    assert(capability || bytes == 0);
    if (wanted.is_group)
        wanted.group = groups_find(&shard->agents.groups, GROUP_CAPABILITY, capability, bytes);
    return wanted;
}

static const struct agent *next_of_all(struct wanted *wanted) {
    if (wanted->is_group)
        return wanted->group ? group_next(wanted->group, &wanted->next) : NULL;
    const struct list *node = wanted->node;
    assert(node && !wanted->group);
    if (node == wanted->all)
        return NULL;
    wanted->node = node->next;
    return list_entry(node, struct agent, link);
}

// The first instance of a child stands for all.
static bool is_shown(const struct wanted *wanted, const struct agent *agent) {
    assert(agent->id_bytes > 0);
    if (wanted->from_elsewhere && agent->here_only)
        return false;
    return (!agent->pool_bytes || agent->pool_bytes == agent->id_bytes) && authz_sees(wanted->user, agent);
}

static const struct agent *next_agent(struct wanted *wanted) {
    const struct agent *agent = next_of_all(wanted);
    while (agent && !is_shown(wanted, agent))
        agent = next_of_all(wanted);
    return agent;
}

// How many bytes put_child writes, or some more.
static size_t child_bytes(const struct agent *agent) {
    enum { ABOUT = 2 * 340 };
    if (!agent->child)
        return 0;
    return ABOUT + (agent->answer ? sizeof ",\"initialize\":" + agent->answer->bytes : 0);
}

// How many bytes put_agent writes, or some more.
static size_t agent_bytes(const struct shard *shard, const struct agent *agent, bool tells_where) {
    static const char fixed[] =
        "{\"agentId\":\"\",\"capabilities\":,\"governanceLevel\":\"\",\"connectedSince\":,\"pending\":}";
    char digits[20];
    enum {
        WHERE_BYTES = sizeof ",\"hub\":\"\",\"hubName\":\"\"" + HUB_NAME_BYTES_MAX + 6 * HUB_DISPLAY_BYTES_MAX
    };
    size_t where_bytes = tells_where ? WHERE_BYTES : 0;
    return sizeof fixed - 1 + where_bytes + agent->id_bytes + agent->capabilities->bytes +
           strlen(governance_text(agent->governance)) + text_digits(digits, agent->connected_since_ms) +
           text_digits(digits, (uint64_t)hub_owed(shard->hub, agent->home->connection)) + child_bytes(agent);
}

// How many bytes a list of them has, or so many more than there is room for that it doesn't matter.
static size_t list_bytes(const struct shard *shard, struct wanted wanted, size_t room, bool tells_where) {
    size_t bytes = sizeof "{\"agents\":[]}" - 1, comma = 0;
    for (const struct agent *agent; bytes <= room && (agent = next_agent(&wanted)); comma = 1)
        bytes += comma + agent_bytes(shard, agent, tells_where);
    return bytes;
}

static void put_every_agent(struct text *out, const struct shard *shard, struct wanted wanted,
                            const struct where *where) {
    text_put(out, "{\"agents\":[");
    const char *between = "";
    for (const struct agent *agent; (agent = next_agent(&wanted)); between = ",") {
        text_put(out, between);
        put_agent(out, shard, agent, where);
    }
    text_put(out, "]");
}

bool directory_each(struct shard *shard, const struct user *user, const char *capability, size_t bytes,
                    const struct hub_name *hub, bool (*put)(void *context, const struct text *agent),
                    void *context) {
    struct wanted wanted = wanted_of(shard, user, capability, bytes);
    bool good = true;
    wanted.from_elsewhere = true;
    for (const struct agent *agent; good && (agent = next_agent(&wanted));) {
        struct text text;
        text_init(&text);
        put_agent(&text, shard, agent, &(struct where){true, hub});
        good = !text.failed && put(context, &text);
        text_deinit(&text);
    }
    return good;
}

// --- Of this hub

// Agents may describe themselves by more than a frame holds, and what they owe may grow meanwhile. No list is
// written in vain: a batch may ask for a thousand.
static void answer_here(struct shard *shard, const struct message *message, struct wanted wanted,
                        bool in_cluster) {
    size_t room = message_room(shard, message), bytes = list_bytes(shard, wanted, room, in_cluster);
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
    put_every_agent(&result, shard, wanted, &(struct where){in_cluster, NULL});
    text_put(&result, in_cluster ? ",\"complete\":true}" : "}");
    if (result.failed || result.length <= room) {
        message_answer(shard, message, &result);
        return;
    }
    text_deinit(&result);
    reply_too_large(shard, message->peer, to);
}

// --- Of all hubs

static void ask_others(struct shard *shard, const struct message *message, const char *capability,
                       size_t capability_bytes) {
    struct reply_to to = message_reply_to(message);
    struct directory_query *inquiry = quota_take(
        &shard->quota, sizeof *inquiry + to.id_bytes + capability_bytes + 1); // + 1: never of nothing
    if (!inquiry) {
        refuse_keeping(shard, message, NULL);
        return;
    }
    *inquiry = (struct directory_query){.exchange = to.exchange,
                                        .room = message_room(shard, message),
                                        .user = authz_user(shard, message->peer),
                                        .id_bytes = to.id_bytes,
                                        .capability_bytes = (uint32_t)capability_bytes};
    inquiry->mail.connection = message->peer->name;
    memcpy(inquiry->texts, to.id, to.id_bytes);
    memcpy(inquiry->texts + to.id_bytes, capability, capability_bytes);
    list_init(&inquiry->link);
    text_init(&inquiry->others);
    message->peer->awaited++;
    shard->inquiries_out++;
    inquiry->mail.kind = MAIL_INQUIRY;
    if (shard->index == 0)
        list_append(&shard->inquiries, &inquiry->link);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, 0), &inquiry->mail);
}

static void add_agents(struct shard *shard, struct directory_query *inquiry, const uint8_t *text,
                       struct span agents) {
    struct text *others = &inquiry->others;
    size_t all = others->length + 1 + agents.bytes;
    inquiry->too_large |= all > inquiry->room;
    if (inquiry->too_large || inquiry->overloaded || agents.bytes == 0)
        return;
    uint64_t more = 2 * (uint64_t)(1 + agents.bytes); // a text grows by doubling
    inquiry->overloaded = !buffer_budget_take(&shard->hub->budget, more, BUDGET_MESSAGE);
    if (inquiry->overloaded)
        return;
    inquiry->counted_bytes += more;
    text_put(others, others->length ? "," : "");
    text_add(others, (const char *)text + agents.at, agents.bytes);
}

// That hub has left out what its own file doesn't show. This hub's file counts, too.
void directory_inquiry_add(struct shard *shard, struct directory_query *inquiry, const uint8_t *array,
                           uint32_t bytes) {
    struct json_walk walk;
    assert(bytes >= 2 && array[0] == '[' && array[bytes - 1] == ']');
    uint32_t end = bytes - 1, at = json_skip_space(array, 1, end);
    if (!inquiry->user || users_rights(inquiry->user)->admin) {
        add_agents(shard, inquiry, array, (struct span){at, end - at});
        return;
    }
    json_walk_begin(&walk, array, (struct span){0, bytes});
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (item.type == JSON_OBJECT && authz_sees_said(inquiry->user, array, item.value))
            add_agents(shard, inquiry, array, item.value);
}

static void answer_inquiry(struct shard *shard, struct peer *peer, struct reply_to to,
                           struct directory_query *inquiry) {
    struct wanted wanted = wanted_of(shard, authz_user(shard, peer), directory_query_capability(inquiry),
                                     inquiry->capability_bytes);
    size_t tail = sizeof ",\"complete\":false" + inquiry->others.length;
    // In a batch, other answers may have taken of the room since the request came.
    size_t room = to.exchange ? exchange_room(shard, to.exchange) : inquiry->room;
    size_t bytes = list_bytes(shard, wanted, room, true) + tail;
    struct text result;
    if (inquiry->too_large || bytes > room) {
        reply_too_large(shard, peer, to);
        return;
    }
    if (!reply_has_memory(shard, peer, to, bytes))
        return;
    text_init(&result);
    put_every_agent(&result, shard, wanted, &(struct where){true, inquiry->hub.bytes ? &inquiry->hub : NULL});
    if (inquiry->others.length && result.length) {
        bool any = result.bytes[result.length - 2] != '[';
        result.length--; // the bracket
        text_put(&result, any ? "," : "");
        text_add(&result, inquiry->others.bytes, inquiry->others.length);
        text_put(&result, "]");
    }
    text_put(&result, inquiry->partial ? ",\"complete\":false}" : ",\"complete\":true}");
    if (result.failed || inquiry->others.failed)
        reply_failed(shard, peer, to);
    else if (result.length > room) // what agents owe may have grown
        reply_too_large(shard, peer, to);
    else
        reply_result(shard, peer, to, result.bytes, result.length);
    text_deinit(&result);
}

static void come_home(struct shard *shard, struct directory_query *inquiry) {
    struct reply_to to = {inquiry->texts, inquiry->id_bytes, inquiry->exchange};
    struct peer *peer = peer_find(shard, inquiry->mail.connection);
    assert(shard->inquiries_out > 0);
    shard->inquiries_out--;
    if (peer) {
        assert(peer->awaited > 0);
        peer->awaited--;
        if (inquiry->overloaded)
            reply_without_memory(shard, peer, to);
        else
            answer_inquiry(shard, peer, to, inquiry);
        peer_settle(shard, peer);
    } else {
        reply_missed(shard, inquiry->mail.connection, to);
    }
    text_deinit(&inquiry->others);
    if (inquiry->counted_bytes)
        buffer_budget_give(&shard->hub->budget, inquiry->counted_bytes);
    quota_give(&shard->quota, inquiry);
}

void directory_inquiry_over(struct shard *shard, struct directory_query *inquiry) {
    uint32_t home = connection_shard(inquiry->mail.connection);
    assert(shard->index == 0);
    list_remove(&inquiry->link);
    if (home == 0)
        come_home(shard, inquiry);
    else
        mailbox_post(hub_mailbox(shard->hub, 0, home), &inquiry->mail);
}

void directory_inquiry_arrived(struct shard *shard, struct mail *mail) {
    struct directory_query *inquiry = list_entry(mail, struct directory_query, mail);
    assert(mail->kind == MAIL_INQUIRY);
    if (connection_shard(mail->connection) == shard->index)
        come_home(shard, inquiry);
    else
        list_append(&shard->inquiries, &inquiry->link);
}

void directory_agents(struct shard *shard, const struct message *message) {
    char capability[METHOD_BYTES_MAX];
    size_t bytes; // 0: all agents are asked for
    bool in_cluster;
    if (!agent_params_read_capability(shard, message, capability, sizeof capability, &bytes) ||
        !agent_params_read_cluster(shard, message, &in_cluster) || !message_is_request(message))
        return;
    assert(bytes <= sizeof capability);
    if (in_cluster && shard->hub->settings.cluster)
        ask_others(shard, message, capability, bytes);
    else
        answer_here(shard, message, wanted_of(shard, authz_user(shard, message->peer), capability, bytes),
                    in_cluster);
}
