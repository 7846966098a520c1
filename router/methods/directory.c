#include "router/methods/directory.h"

#include <assert.h>
#include <string.h>

#include "router/methods/offer.h"
#include "router/rights/judge.h"
#include "router/shard/child_record.h"

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

static void put_agent(struct text *out, const struct shard *shard, const struct agent *agent) {
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
    text_put(out, "}");
}

// The agents that hub/agents asks for: all, or the members of one group; and how far they have been gone
// through.
struct wanted {
    const struct list *all;
    const struct list *node;
    const struct user *user; // who asks; NULL: users aren't on
    bool is_group;
    const struct group *group; // or NULL
    size_t next;
};

static bool read_wanted(struct shard *shard, const struct message *message, struct wanted *wanted) {
    char capability[METHOD_BYTES_MAX];
    size_t bytes; // 0: all agents are
    if (!offer_read_capability(shard, message, capability, sizeof capability, &bytes))
        return false;
    assert(bytes <= sizeof capability);
    const struct list *all = &shard->agents.all;
    const struct user *user = judge_user(shard, message->peer);
    *wanted = (struct wanted){.all = all, .node = all->next, .user = user, .is_group = bytes > 0};
    if (wanted->is_group)
        wanted->group = groups_find(&shard->agents.groups, GROUP_CAPABILITY, capability, bytes);
    return true;
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

// The first instance of a child stands for all, and the link is no agent.
static bool is_shown(const struct wanted *wanted, const struct agent *agent) {
    assert(agent->id_bytes > 0);
    if (agent_is_link(agent))
        return false;
    return (!agent->pool_bytes || agent->pool_bytes == agent->id_bytes) && judge_sees(wanted->user, agent);
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
static size_t agent_bytes(const struct shard *shard, const struct agent *agent) {
    static const char fixed[] =
        "{\"agentId\":\"\",\"capabilities\":,\"governanceLevel\":\"\",\"connectedSince\":,\"pending\":}";
    char digits[20];
    return sizeof fixed - 1 + agent->id_bytes + agent->capabilities->bytes +
           strlen(governance_text(agent->governance)) + text_digits(digits, agent->connected_since_ms) +
           text_digits(digits, (uint64_t)hub_owed(shard->hub, agent->home->connection)) + child_bytes(agent);
}

// How many bytes a list of them has, or so many more than there is room for that it doesn't matter.
static size_t list_bytes(const struct shard *shard, struct wanted wanted, size_t room) {
    size_t bytes = sizeof "{\"agents\":[]}" - 1, comma = 0;
    for (const struct agent *agent; bytes <= room && (agent = next_agent(&wanted)); comma = 1)
        bytes += comma + agent_bytes(shard, agent);
    return bytes;
}

static void put_every_agent(struct text *out, const struct shard *shard, struct wanted wanted) {
    text_put(out, "{\"agents\":[");
    const char *between = "";
    for (const struct agent *agent; (agent = next_agent(&wanted)); between = ",") {
        text_put(out, between);
        put_agent(out, shard, agent);
    }
    text_put(out, "]}");
}

// Agents may have made of themselves what no frame holds; what they owe may grow meanwhile. None is written in
// vain: a batch may ask for a thousand lists.
void directory_agents(struct shard *shard, const struct message *message) {
    struct wanted wanted;
    if (!read_wanted(shard, message, &wanted) || !message_is_request(message))
        return;
    assert(!wanted.group || wanted.is_group);
    size_t room = message_room(shard, message), bytes = list_bytes(shard, wanted, room);
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
    put_every_agent(&result, shard, wanted);
    if (result.failed || result.length <= room) {
        message_answer(shard, message, &result);
        return;
    }
    text_deinit(&result);
    reply_too_large(shard, message->peer, to);
}
