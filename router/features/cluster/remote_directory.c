#include "router/features/cluster/remote_directory.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/reply.h"
#include "router/engine/send/send.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/directory.h"

enum { QUERIES_MAX = 16 }; // queries at a time

// --- Questions

static void finish(struct link *link, struct directory_query *query, bool is_partial) {
    query->partial |= is_partial;
    assert(!list_empty(&link->shard->directory_queries));
    directory_query_end(link->shard, query);
}

static void begin_query(struct link *link, struct directory_query *query) {
    struct hub_words words = {.kind = SUBJECT_HUBS_AGENTS, .user = query->user ? query->user->name : NULL};
    struct text json;
    assert(!query->number);
    query->number = words.number = ++link->numbers;
    query->asked_ms = shard_now_ms(link->shard);
    query->hub = link->hub;
    query->partial |= link->members.unserved > 0;
    query->awaited_hubs = link->members.served;
    if (!query->awaited_hubs) {
        finish(link, query, false);
        return;
    }
    text_init(&json);
    reply_data_string(&json, "capability", directory_query_capability(query), query->capability_bytes);
    text_put(&json, "}");
    nats_publish(link, &words, &json);
}

uint64_t remote_directory_ask(struct link *link, const struct cluster_member *member, const char *json) {
    struct hub_words words = {.kind = SUBJECT_AGENTS, .hub = &member->hub, .number = ++link->numbers};
    struct text text;
    text_init(&text);
    text_put(&text, json);
    nats_publish(link, &words, &text);
    return words.number;
}

void remote_directory_follow(struct link *link) {
    assert(link->shard->index == 0);
    unsigned count = 0;
    LIST_EACH (struct directory_query, query, &link->shard->directory_queries, link) {
        if (!link_is_open(link)) {
            finish(link, query, true);
        } else if (++count > QUERIES_MAX) {
            query->overloaded = true;
            finish(link, query, true);
        } else if (!query->number) {
            begin_query(link, query);
        }
    }
}

void remote_directory_tick(struct link *link) {
    uint64_t now_ms = shard_now_ms(link->shard);
    LIST_EACH (struct directory_query, query, &link->shard->directory_queries, link)
        if (query->number && now_ms - query->asked_ms + CLUSTER_TICK_MS > CLUSTER_LIST_MS)
            finish(link, query, true);
}

void remote_directory_take(struct link *link, const struct hub_message *message, struct span agents) {
    struct directory_query *query = NULL;
    struct cluster_member *member = message->member;
    bool is_cut = json_member_true(message->body, message->json, "cut"),
         is_last = !json_member_true(message->body, message->json, "more");
    if (member->presence.list_number == message->subject.number) {
        remote_presence_list(link->shard, &member->presence, &member->hub, message->body, agents,
                             is_last && !is_cut);
        return;
    }
    LIST_EACH (struct directory_query, one, &link->shard->directory_queries, link)
        if (one->number == message->subject.number)
            query = one;
    if (!query) // the query has ended
        return;
    directory_query_add(link->shard, query, message->body + agents.at, agents.bytes);
    query->partial |= is_cut;
    // The query doesn't wait for members that came after it.
    bool is_awaited = member->is_served && member->served_since < query->number;
    if (is_awaited && query->awaited_hubs > 0 && is_last)
        query->awaited_hubs--;
    if (!query->awaited_hubs || query->too_large || query->overloaded)
        finish(link, query, false);
}

// --- Answers

struct parts {
    struct link *link;
    const struct hub_name *to;
    uint64_t number;
    struct text part; // agents, with commas between them
    size_t bytes_max;
    bool is_brief, is_cut;
};

static void send_part(struct parts *parts, bool more) {
    struct text json;
    text_init(&json);
    text_put(&json, parts->is_brief ? "{\"brief\":true" : "{\"brief\":false");
    text_put(&json, more ? ",\"more\":true" : "");
    text_put(&json, parts->is_cut ? ",\"cut\":true,\"agents\":[" : ",\"agents\":[");
    text_add(&json, parts->part.bytes, parts->part.length);
    text_put(&json, "]}");
    json.failed |= parts->part.failed;
    text_deinit(&parts->part);
    text_init(&parts->part);
    struct hub_words words = {.kind = SUBJECT_ANSWER, .hub = parts->to, .number = parts->number};
    nats_publish(parts->link, &words, &json);
}

// Returns whether a list may still be sent. Lists may fill half of the link's queue, because other hubs choose how many
// lists they ask for.
static bool has_share(const struct link *link) {
    size_t waiting = outbox_footprint(&link->peer->connection.outbox);
    return link_is_open(link) && waiting < shard_limits(link->shard)->queue_bytes_max / 2;
}

// Adds an agent to the answer. Returns false if the link's queue has no room: then the other agents are left out.
static bool put_one(void *context, const struct text *agent) {
    struct parts *parts = context;
    if (agent->length > parts->bytes_max) {
        parts->is_cut = true;
        return true;
    }
    if (parts->part.length && parts->part.length + 1 + agent->length > parts->bytes_max)
        send_part(parts, true);
    if (!has_share(parts->link))
        return false;
    text_put(&parts->part, parts->part.length ? "," : "");
    text_add(&parts->part, agent->bytes, agent->length);
    return true;
}

// Writes the names that the hub holds, and for how long, in ms.
static bool put_names(struct link *link, struct parts *parts) {
    const struct shard *shard = link->shard;
    bool good = true;
    LIST_EACH (const struct agent, agent, &shard->agents.all, link) {
        struct text json;
        if (!good || (agent->pool_bytes && agent->pool_bytes != agent->id_bytes))
            continue;
        text_init(&json);
        reply_data_string(&json, "agentId", agent->id, agent->id_bytes);
        reply_data_number(&json, "ageMs", (int64_t)(shard_now_ms(shard) - agent->held_since_ms));
        text_put(&json, agent->child ? ",\"child\":true}" : "}");
        good = !json.failed && put_one(parts, &json);
        text_deinit(&json);
    }
    return good;
}

static bool put_agents(struct link *link, struct parts *parts, const struct hub_message *message) {
    char name[METHOD_BYTES_MAX];
    const struct user *user = hub_message_user(link, message);
    size_t bytes = json_member_text(message->body, message->json, "capability", name, sizeof name);
    bool is_other = json_member(message->body, message->json, "capability").type != JSON_STRING;
    // For presence, the asking hub decides which client may see an agent
    bool is_presence = json_member_true(message->body, message->json, "presence");
    if ((bytes == SIZE_MAX && !is_other) || (link->shard->settings->users && !user && !is_presence))
        return true; // no agent here can have this capability, or the user may see none
    return directory_each(link->shard, user, name, is_other ? 0 : bytes, &link->hub, put_one, parts);
}

bool remote_directory_answer(struct link *link, const struct hub_message *message) {
    struct parts parts = {.link = link, .to = &message->member->hub, .number = hub_message_reply(message)};
    assert(message->member);
    if (!parts.number)
        return false;
    parts.bytes_max = nats_publish_room(link);
    parts.is_brief = json_member_true(message->body, message->json, "brief");
    text_init(&parts.part);
    parts.is_cut = !has_share(link) ||
                   !(parts.is_brief ? put_names(link, &parts) : put_agents(link, &parts, message)) ||
                   parts.is_cut;
    if (link_is_open(link))
        send_part(&parts, false);
    text_deinit(&parts.part);
    return true;
}
