#include "router/registry/remote_presence.h"

#include <assert.h>
#include <string.h>

#include "core/json/json.h"
#include "router/registry/presence.h"

struct remote_agent {
    struct list link;
    // One reference; NULL: neither told nor needed to judge who may see the agent
    struct capabilities *capabilities;
    enum governance governance;
    bool is_told; // subscribers were told of the agent as it is now
    uint32_t bytes;
    char id[];
};

// --- Known agents

static void forget_one(struct shard *shard, struct remote_presence *presence, struct remote_agent *agent) {
    name_map_remove(&presence->by_id, agent->id, agent->bytes);
    list_remove(&agent->link);
    capabilities_drop(&shard->quota, agent->capabilities);
    quota_give(&shard->quota, agent);
}

// NULL without memory: then the list of the hub's agents has a gap.
static struct remote_agent *add(struct shard *shard, struct remote_presence *presence, const char *id,
                                uint32_t bytes) {
    struct remote_agent *agent = quota_take_zeroed(&shard->quota, 1, sizeof *agent + bytes);
    assert(bytes > 0);
    if (agent) {
        agent->bytes = bytes;
        memcpy(agent->id, id, bytes);
    }
    if (!agent || !name_map_add(&presence->by_id, agent->id, bytes, agent)) {
        presence->is_partial = true;
        quota_give(&shard->quota, agent);
        return NULL;
    }
    list_append(&presence->all, &agent->link);
    return agent;
}

// Takes the agent's new description. Returns whether it is surely equal to the former one.
static bool update(struct shard *shard, struct remote_agent *agent, const struct presence_change *change) {
    const struct capabilities *old = agent->capabilities, *now = change->capabilities;
    bool same = old && now && agent->governance == change->governance && old->bytes == now->bytes &&
                memcmp(old->text, now->text, now->bytes) == 0;
    capabilities_drop(&shard->quota, agent->capabilities);
    agent->capabilities = change->capabilities ? capabilities_hold(change->capabilities) : NULL;
    agent->governance = change->governance;
    return same;
}

// --- Changes

static bool read_change(const uint8_t *text, struct span object, struct presence_change *out) {
    char word[32];
    size_t bytes = json_member_text(text, object, "agentId", out->agent_id, sizeof out->agent_id);
    if (bytes == SIZE_MAX || !agent_id_valid(out->agent_id, bytes))
        return false;
    out->agent_id_bytes = (uint32_t)bytes;
    bytes = json_member_text(text, object, "reason", word, sizeof word);
    out->reason = bytes == SIZE_MAX ? PRESENCE_REGISTERED : presence_reason_read(word, bytes);
    bytes = json_member_text(text, object, "governanceLevel", word, sizeof word);
    out->governance = bytes == SIZE_MAX ? GOVERNANCE_COUNT : governance_parse(word, bytes);
    if (out->reason == PRESENCE_REGISTERED && out->governance >= GOVERNANCE_COUNT)
        return false;
    return true;
}

// False: there is no memory to say who may see the agent, or to tell what it offers.
static bool read_capabilities(struct shard *shard, const uint8_t *text, struct span object,
                              struct presence_change *out) {
    struct json_item said = json_member(text, object, "capabilities");
    assert(!out->capabilities);
    if ((said.type != JSON_OBJECT && said.type != JSON_ARRAY) ||
        (!shard->settings->users && said.value.bytes > PRESENCE_TOLD_BYTES_MAX))
        return true;
    out->capabilities = capabilities_create(&shard->quota, text + said.value.at, said.value.bytes);
    return out->capabilities != NULL;
}

static bool follow_agent(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub,
                         const uint8_t *text, struct span object, bool is_listed) {
    struct presence_change change = {.hub = *hub};
    assert(shard->index == 0 && hub->bytes);
    if (!read_change(text, object, &change))
        return false;
    if (!read_capabilities(shard, text, object, &change)) {
        presence->is_partial = true;
        presence_miss(shard, change.reason);
        return true;
    }
    struct remote_agent *agent = name_map_get(&presence->by_id, change.agent_id, change.agent_id_bytes);
    bool came = change.reason == PRESENCE_REGISTERED;
    if (came && !agent)
        agent = add(shard, presence, change.agent_id, change.agent_id_bytes);
    bool same = came && agent && update(shard, agent, &change) && agent->is_told;
    bool is_news = !same && (!is_listed || presence->is_news);
    if (is_news)
        presence_note_remote(shard, &change);
    if (came && agent)
        agent->is_told = same || is_news;
    else if (agent)
        forget_one(shard, presence, agent);
    capabilities_drop(&shard->quota, change.capabilities);
    return true;
}

bool remote_presence_take(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub,
                          const uint8_t *text, struct span change) {
    assert(change.bytes > 0);
    return text[change.at] == '{' && follow_agent(shard, presence, hub, text, change, false);
}

void remote_presence_list(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub,
                          const uint8_t *text, struct span agents, bool is_last) {
    struct json_walk walk;
    assert(presence->list_number);
    json_walk_begin(&walk, text, agents);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;)
        if (item.type == JSON_OBJECT)
            follow_agent(shard, presence, hub, text, item.value, true);
    if (is_last)
        presence->is_partial = false;
}

void remote_presence_lose(struct shard *shard, struct remote_presence *presence, const struct hub_name *hub) {
    struct list *all = &presence->all;
    assert(shard->index == 0);
    for (struct list *node = all->next; shard->phase == HUB_SERVING && node != all; node = node->next) {
        const struct remote_agent *agent = list_entry(node, struct remote_agent, link);
        struct presence_change change = {.hub = *hub,
                                         .reason = PRESENCE_DISCONNECTED,
                                         .capabilities = agent->capabilities,
                                         .agent_id_bytes = agent->bytes};
        memcpy(change.agent_id, agent->id, agent->bytes);
        presence_note_remote(shard, &change);
    }
    if (shard->phase == HUB_SERVING && presence->is_partial)
        presence_miss(shard, PRESENCE_DISCONNECTED);
    remote_presence_forget(shard, presence);
    presence->is_news = true;
}

void remote_presence_forget(struct shard *shard, struct remote_presence *presence) {
    while (!list_empty(&presence->all))
        forget_one(shard, presence, list_entry(presence->all.next, struct remote_agent, link));
    struct siphash_key key = presence->by_id.hash_key;
    name_map_deinit(&presence->by_id);
    name_map_init(&presence->by_id, &key, &shard->quota);
    presence->is_partial = false;
    presence->list_number = 0;
}
