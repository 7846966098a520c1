#include "router/features/cluster/remote_directory.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/send.h"
#include "router/features/cluster/name_claim.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/directory.h"

enum { QUERIES_MAX = 16 }; // at a time

static struct directory_query *query_at(struct list *node) {
    return list_entry(node, struct directory_query, link);
}

// --- Asking

static void finish(struct link *link, struct directory_query *query, bool is_partial) {
    query->partial |= is_partial;
    assert(!list_empty(&link->shard->directory_queries));
    quota_give(&link->shard->quota, query->awaited_hubs);
    query->awaited_hubs = NULL;
    directory_query_end(link->shard, query);
}

// Whose answers are waited for: those that are served now. False: there is no memory.
static bool await_all(struct link *link, struct directory_query *query) {
    const struct list *all = &link->members.all;
    uint32_t count = link->members.served;
    assert(link->shard->index == 0);
    query->awaited_hubs = count ? quota_take(&link->shard->quota, count * sizeof *query->awaited_hubs) : NULL;
    query->awaited_count = 0;
    if (count && !query->awaited_hubs)
        return false;
    for (const struct list *node = all->next; node != all; node = node->next) {
        const struct cluster_member *member = list_entry(node, struct cluster_member, link);
        if (member->has_beaten && member->is_served && query->awaited_count < count)
            query->awaited_hubs[query->awaited_count++] = member->hub;
    }
    return true;
}

static void ask(struct link *link, struct directory_query *query) {
    char subject[SUBJECT_BYTES_MAX];
    struct hub_words words = {.subject = subject, .user = query->user ? query->user->name : NULL};
    struct text json;
    assert(link->shard->index == 0);
    query->number = words.answer = ++link->numbers;
    query->asked_ms = shard_now_ms(link->shard);
    query->hub = link->hub;
    query->partial |= link->members.unserved > 0;
    if (!await_all(link, query)) {
        query->overloaded = true;
        finish(link, query, true);
        return;
    }
    if (!query->awaited_count) {
        finish(link, query, false);
        return;
    }
    text_init(&json);
    text_put(&json, "{");
    if (query->capability_bytes) {
        text_put(&json, "\"capability\":");
        text_string(&json, directory_query_capability(query), query->capability_bytes);
    }
    text_put(&json, "}");
    words.subject_bytes =
        subject_write_hubs(subject, link->shard->hub->settings.cluster->name, SUBJECT_HUBS_AGENTS);
    words.json = json.bytes;
    words.json_bytes = json.length;
    if (json.failed)
        peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
    else
        nats_publish(link, &words);
    text_deinit(&json);
}

void remote_directory_follow(struct link *link) {
    struct list *all = &link->shard->directory_queries;
    bool is_up = link->state == LINK_UP && link->peer->state == PEER_OPEN;
    assert(link->shard->index == 0);
    unsigned count = 0;
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct directory_query *query = query_at(node);
        next = node->next;
        if (!is_up) {
            finish(link, query, true);
        } else if (++count > QUERIES_MAX) {
            query->overloaded = true;
            finish(link, query, true);
        } else if (!query->number) {
            ask(link, query);
        }
    }
}

void remote_directory_tick(struct link *link) {
    struct list *all = &link->shard->directory_queries;
    uint64_t now_ms = shard_now_ms(link->shard);
    assert(link->shard->index == 0);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct directory_query *query = query_at(node);
        next = node->next;
        if (query->number && now_ms - query->asked_ms + CLUSTER_TICK_MS > CLUSTER_LIST_MS)
            finish(link, query, true);
    }
}

// Its last part came. Whether that was the last one that was waited for.
static bool note_answered(struct directory_query *query, const struct cluster_member *member) {
    for (uint32_t at = 0; at < query->awaited_count; at++) {
        if (hub_name_compare_nodes(&query->awaited_hubs[at], &member->hub) != 0)
            continue;
        query->awaited_hubs[at] = query->awaited_hubs[--query->awaited_count];
        break;
    }
    return query->awaited_count == 0;
}

bool remote_directory_take(struct link *link, struct cluster_member *member, uint64_t number,
                           const uint8_t *body, uint32_t bytes) {
    struct list *all = &link->shard->directory_queries, *node = all->next;
    struct span whole = {0, bytes};
    assert(link->shard->index == 0);
    if (!bytes || !json_valid(body, bytes))
        return false;
    struct json_item agents = json_member(body, whole, "agents");
    if (agents.type != JSON_ARRAY)
        return false;
    while (node != all && query_at(node)->number != number)
        node = node->next;
    if (node == all) { // it comes too late, or is a brief list
        if (json_member(body, whole, "brief").type == JSON_TRUE)
            name_claim_compare(link, member, body, agents.value);
        return true;
    }
    struct directory_query *query = query_at(node);
    directory_query_add(link->shard, query, body + agents.value.at, agents.value.bytes);
    query->partial |= json_member(body, whole, "cut").type == JSON_TRUE;
    bool is_last = json_member(body, whole, "more").type != JSON_TRUE && note_answered(query, member);
    if (is_last || query->too_large || query->overloaded)
        finish(link, query, false);
    return true;
}

// --- Answering

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
    text_put(&json, parts->is_cut ? ",\"cut\":true" : "");
    text_put(&json, ",\"agents\":[");
    if (parts->part.length)
        text_add(&json, parts->part.bytes, parts->part.length);
    text_put(&json, "]}");
    json.failed |= parts->part.failed;
    text_deinit(&parts->part);
    text_init(&parts->part);
    nats_publish_to(parts->link, parts->to, SUBJECT_ANSWER, parts->number, &json);
}

// Lists have half of what may wait for the server: how many are asked for others choose.
static bool has_share(const struct link *link) {
    size_t waiting = outbox_footprint(&link->peer->connection.outbox);
    assert(link->shard->index == 0);
    return link->peer->state == PEER_OPEN && waiting < shard_limits(link->shard)->queue_bytes_max / 2;
}

// False: the link takes no more, and the rest is left out.
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

// What the hub holds, and for how long.
static bool put_names(struct link *link, struct parts *parts) {
    const struct shard *shard = link->shard;
    const struct list *all = &shard->agents.all;
    bool good = true;
    assert(link->shard->index == 0);
    for (const struct list *node = all->next; good && node != all; node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, link);
        struct text json;
        if (agent->pool_bytes && agent->pool_bytes != agent->id_bytes)
            continue;
        text_init(&json);
        text_put(&json, "{\"agentId\":");
        text_string(&json, agent->id, agent->id_bytes);
        text_put(&json, ",\"ageMs\":");
        text_number(&json, (int64_t)(shard_now_ms(shard) - agent->held_since_ms));
        text_put(&json, agent->child ? ",\"child\":true}" : "}");
        good = !json.failed && put_one(parts, &json);
        text_deinit(&json);
    }
    return good;
}

static bool put_agents(struct link *link, struct parts *parts, const struct user *user, const uint8_t *body,
                       struct json_item capability) {
    char name[METHOD_BYTES_MAX];
    size_t bytes =
        capability.type == JSON_STRING ? json_string_decode(body, capability.value, name, sizeof name) : 0;
    assert(link->shard->index == 0);
    if (bytes == SIZE_MAX || (link->shard->settings->users && !user))
        return true; // nobody here can have it, or may be seen
    return directory_each(link->shard, user, name, bytes, &link->hub, put_one, parts);
}

bool remote_directory_answer(struct link *link, struct cluster_member *member,
                             const struct hub_header *header, const uint8_t *bytes, uint64_t number,
                             const uint8_t *body, uint32_t body_bytes) {
    const struct users *users = link->shard->settings->users;
    struct span whole = {0, body_bytes};
    struct parts parts = {.link = link, .to = &member->hub, .number = number};
    assert(link->shard->index == 0);
    if (!number || !body_bytes || !json_valid(body, body_bytes))
        return false;
    const struct user *user =
        users && header->user.bytes
            ? users_by_name(users, (const char *)bytes + header->user.at, header->user.bytes)
            : NULL;
    parts.bytes_max = nats_publish_room(link);
    parts.is_brief = json_member(body, whole, "brief").type == JSON_TRUE;
    text_init(&parts.part);
    bool is_whole = has_share(link) && (parts.is_brief ? put_names(link, &parts)
                                                       : put_agents(link, &parts, user, body,
                                                                    json_member(body, whole, "capability")));
    parts.is_cut |= !is_whole;
    if (link->peer->state == PEER_OPEN)
        send_part(&parts, false);
    text_deinit(&parts.part);
    return true;
}
