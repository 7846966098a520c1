#include "router/features/cluster/name_claim.h"

#include <assert.h>
#include <string.h>

#include "io/log.h"
#include "router/engine/shard/child_record.h"
#include "router/engine/shard/identity.h"
#include "router/features/cluster/nats_connect.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/claim_table.h"
#include "router/registry/registry.h"
#include "router/routing/remote_attach.h"

static struct order *order_at(struct list *node) {
    return list_entry(node, struct order, by_table);
}

static bool is_open(const struct link *link) {
    return link->state == LINK_UP && link->peer->state == PEER_OPEN;
}

// --- Saying

static void publish_name(struct link *link, const char *id, size_t bytes, uint64_t number, const char *user,
                         struct text *json) {
    char subject[SUBJECT_BYTES_MAX], token[SUBJECT_NAME_BYTES_MAX];
    size_t token_bytes = subject_escape(token, id, bytes);
    assert(token_bytes > 0);
    struct hub_words words = {.subject = subject, .answer = number, .user = user, .json = json->bytes};
    words.json_bytes = json->length;
    words.subject_bytes = subject_write(subject, link->shard->hub->settings.cluster->name, &link->realm,
                                        SUBJECT_NAME, token, token_bytes);
    if (json->failed)
        peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
    else
        nats_publish(link, &words);
    text_deinit(json);
}

static void begin_words(struct text *json, const char *id, size_t bytes) {
    text_init(json);
    text_put(json, "{\"agentId\":");
    text_string(json, id, bytes);
}

static void publish_claim(struct link *link, const struct order *order) {
    struct text json;
    assert(link->shard->index == 0);
    begin_words(&json, order->agent_id, order->agent_id_bytes);
    text_put(&json, link->shard->settings->takeover ? ",\"takeover\":true}" : ",\"takeover\":false}");
    publish_name(link, order->agent_id, order->agent_id_bytes, order->claim_number,
                 order->owner ? order->owner->name : NULL, &json);
}

// What hub holds it, and for how long.
static void put_holding(struct text *json, const struct shard *shard, const struct agent *agent) {
    assert(agent->held_since_ms <= shard_now_ms(shard));
    text_put(json, ",\"ageMs\":");
    text_number(json, (int64_t)(shard_now_ms(shard) - agent->held_since_ms));
    if (agent->child)
        text_put(json,
                 child_record_is_mcp(agent->child) ? ",\"child\":true,\"mcp\":true" : ",\"child\":true");
}

// --- Two hubs hold one name

static bool is_lesser(const struct link *link, const struct cluster_member *member) {
    return hub_name_compare_nodes(&link->hub, &member->hub) < 0;
}

static void give_up(struct link *link, const struct agent *agent) {
    assert(!agent->child);
    stats_count(&link->shard->stats, COUNT_NAMES_YIELDED);
    log_write(LOG_NAME_CONFLICT, LOG_FIELDS(log_bytes(agent->id, agent->id_bytes)),
              "cluster: agent %.*s is held at another hub: given up here", (int)agent->id_bytes, agent->id);
    registry_yield(link->shard, link->peer->name, agent);
}

// What another hub holds, too. The lesser NODE alone judges, so that both can't think that they stay: the younger yields, a child never.
static void judge(struct link *link, struct cluster_member *member, const char *id, size_t bytes,
                  uint64_t age_ms, bool is_child) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, id, bytes);
    struct text json;
    assert(link->shard->index == 0);
    if (!agent || !is_lesser(link, member) || (is_child && agent->child))
        return;
    bool stays = agent->child || (!is_child && shard_now_ms(shard) - agent->held_since_ms >= age_ms);
    if (!stays) {
        give_up(link, agent);
        return;
    }
    begin_words(&json, id, bytes);
    text_put(&json, "}");
    nats_publish_to(link, &member->hub, SUBJECT_YIELD, 0, &json);
}

// What is said of a name.
struct name_words {
    size_t bytes; // of the name; SIZE_MAX: there is none
    bool is_held, takes_over, is_child, is_mcp, attaches, has_age;
    uint64_t age_ms;
    char id[AGENT_ID_BYTES_MAX];
};

static bool is_true(const uint8_t *body, struct span all, const char *key) {
    return json_member(body, all, key).type == JSON_TRUE;
}

static void read_words(const uint8_t *body, struct span all, struct name_words *out) {
    struct json_item id = json_member(body, all, "agentId"), age = json_member(body, all, "ageMs");
    out->bytes =
        id.type == JSON_STRING ? json_string_decode(body, id.value, out->id, sizeof out->id) : SIZE_MAX;
    if (out->bytes != SIZE_MAX && !agent_id_valid(out->id, out->bytes))
        out->bytes = SIZE_MAX;
    out->is_held = is_true(body, all, "held");
    out->takes_over = is_true(body, all, "takeover");
    out->is_child = is_true(body, all, "child");
    out->is_mcp = is_true(body, all, "mcp");
    out->attaches = is_true(body, all, "attach");
    out->age_ms = 0;
    out->has_age = age.type == JSON_NUMBER && json_number_whole(body, age.value, &out->age_ms);
}

void name_claim_compare(struct link *link, struct cluster_member *member, const uint8_t *body,
                        struct span agents) {
    struct json_walk walk;
    struct name_words words;
    assert(agents.bytes > 0);
    json_walk_begin(&walk, body, agents);
    for (struct json_item item; link->peer->state == PEER_OPEN && json_next(&walk, &item) == JSON_ITEM;) {
        if (item.type != JSON_OBJECT)
            continue;
        read_words(body, item.value, &words);
        if (words.bytes != SIZE_MAX)
            judge(link, member, words.id, words.bytes, words.age_ms, words.is_child);
    }
}

bool name_claim_yield(struct link *link, const uint8_t *body, uint32_t bytes) {
    struct name_words words;
    assert(link->shard->index == 0);
    if (!bytes || !json_valid(body, bytes))
        return false;
    read_words(body, (struct span){0, bytes}, &words);
    if (words.bytes == SIZE_MAX)
        return false;
    const struct agent *agent = agents_find(&link->shard->agents, words.id, words.bytes);
    if (agent && !agent->child)
        give_up(link, agent);
    return true;
}

// --- Asked

// Whether it may be taken as one at this hub might take it: where users are on, by who has it alone.
static bool may_be_taken(const struct shard *shard, const struct agent *agent, const struct user *user) {
    return shard->settings->takeover && !agent->child &&
           (!shard->settings->users || (user && identity_same(user, agent->owner)));
}

// Whether this hub has the name, or comes first for it.
static bool is_held(struct link *link, struct cluster_member *member, const struct name_words *words,
                    const struct user *user) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, words->id, words->bytes);
    assert(link->shard->index == 0);
    if (agent && words->takes_over && may_be_taken(shard, agent, user))
        return !registry_yield(shard, link->peer->name, agent);
    if (agent)
        return true;
    struct order *order = claim_table_find(shard->claims, words->id, words->bytes);
    if (order && is_lesser(link, member))
        return true;
    if (order)
        registry_claimed(shard, order, true); // it gives way at once
    return false;
}

static void answer_held(struct link *link, struct cluster_member *member, const struct name_words *words,
                        uint64_t number) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, words->id, words->bytes);
    struct text json;
    assert(link->shard->index == 0);
    begin_words(&json, words->id, words->bytes);
    text_put(&json, ",\"held\":true");
    if (agent)
        put_holding(&json, shard, agent);
    text_put(&json, "}");
    nats_publish_to(link, &member->hub, SUBJECT_ANSWER, number, &json);
}

bool name_claim_take(struct link *link, struct cluster_member *member, const struct hub_header *header,
                     const uint8_t *bytes, struct span token, uint64_t reply, const uint8_t *body,
                     uint32_t body_bytes) {
    struct shard *shard = link->shard;
    const struct users *users = shard->settings->users;
    struct name_words words;
    assert(link->shard->index == 0);
    if (!body_bytes || !json_valid(body, body_bytes))
        return false;
    read_words(body, (struct span){0, body_bytes}, &words);
    if (words.bytes == SIZE_MAX || !token.bytes)
        return false;
    const struct agent *agent = agents_find(&shard->agents, words.id, words.bytes);
    if (words.attaches || words.has_age) { // nobody claims the name
        if (words.has_age && agent)
            judge(link, member, words.id, words.bytes, words.age_ms, words.is_child);
        bool is_told = agent && (words.attaches ? !agent->here_only : !is_lesser(link, member));
        if (reply && is_told)
            answer_held(link, member, &words, reply);
        return true;
    }
    const struct user *user =
        users && header->user.bytes
            ? users_by_name(users, (const char *)bytes + header->user.at, header->user.bytes)
            : NULL;
    if (is_held(link, member, &words, user) && reply)
        answer_held(link, member, &words, reply);
    return true;
}

// --- Answered

static struct attach_query *attach_of(const struct shard *shard, uint64_t number) {
    const struct list *all = &shard->attach_queries;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct attach_query *query = list_entry(node, struct attach_query, link);
        if (query->number == number)
            return query;
    }
    return NULL;
}

bool name_claim_answer(struct link *link, struct cluster_member *member, uint64_t number, const uint8_t *body,
                       uint32_t bytes) {
    struct shard *shard = link->shard;
    struct order *order = claim_table_number(shard->claims, number);
    struct attach_query *query = order ? NULL : attach_of(shard, number);
    struct name_words words = {.bytes = SIZE_MAX};
    assert(link->shard->index == 0);
    if (member && bytes && json_valid(body, bytes))
        read_words(body, (struct span){0, bytes}, &words);
    else if (member)
        return false;
    if (order && (!member || words.is_held))
        registry_claimed(shard, order, words.is_held);
    else if (query && (!member || words.is_held))
        remote_attach_over(shard, query,
                           !member        ? ATTACH_NOBODY
                           : words.is_mcp ? ATTACH_SERVER
                                          : ATTACH_HELD);
    else if (member && words.is_held && words.bytes != SIZE_MAX)
        judge(link, member, words.id, words.bytes, words.age_ms, words.is_child);
    return true;
}

// --- Asking

static void ask(struct link *link, struct order *order) {
    struct shard *shard = link->shard;
    char token[SUBJECT_NAME_BYTES_MAX];
    assert(!order->claim_number);
    claim_table_sent(shard->claims, order, ++link->numbers, shard_now_ms(shard));
    if (subject_escape(token, order->agent_id, order->agent_id_bytes))
        publish_claim(link, order);
    else
        registry_claimed(shard, order, false); // a name that no subject can bear exists here alone
}

// Those that nobody was asked for are the last ones.
static struct list *first_unasked(const struct shard *shard) {
    struct list *all = &shard->claims->orders, *node = all;
    while (node->prev != all && !order_at(node->prev)->claim_number)
        node = node->prev;
    return node;
}

static void ask_attachments(struct link *link) {
    struct list *all = &link->shard->attach_queries;
    assert(link->shard->index == 0);
    for (struct list *node = all->next; node != all; node = node->next) {
        struct attach_query *query = list_entry(node, struct attach_query, link);
        struct text json;
        if (query->number)
            continue;
        query->number = ++link->numbers;
        query->asked_ms = shard_now_ms(link->shard);
        begin_words(&json, attach_query_agent(query), query->agent_bytes);
        text_put(&json, ",\"attach\":true}");
        publish_name(link, attach_query_agent(query), query->agent_bytes, query->number, NULL, &json);
    }
}

static void close_all(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->shard->index == 0);
    while (!list_empty(&shard->claims->orders))
        registry_claimed(shard, order_at(shard->claims->orders.next), false);
    while (!list_empty(&shard->attach_queries))
        remote_attach_over(shard, list_entry(shard->attach_queries.next, struct attach_query, link),
                           ATTACH_DOWN);
}

// --- The answer to a registration waits for the server

static struct order *first_unconfirmed(const struct shard *shard) {
    const struct list *orders = &shard->barrier;
    return list_empty(orders) ? NULL : list_entry(orders->next, struct order, by_barrier);
}

static void follow_confirmations(struct link *link) {
    struct shard *shard = link->shard;
    bool any = false;
    assert(link->shard->index == 0);
    if (link->state < LINK_JOINING || link->peer->state != PEER_OPEN) {
        for (struct order *order; (order = first_unconfirmed(shard));)
            registry_confirmed(shard, order);
        return;
    }
    for (struct list *node = shard->barrier.prev; node != &shard->barrier; node = node->prev) {
        struct order *order = list_entry(node, struct order, by_barrier);
        if (order->barrier_ping)
            break;
        order->barrier_ping = link->pings + 1;
        any = true;
    }
    if (any)
        nats_write_ping(link);
}

void name_claim_link_stands(struct link *link) {
    const struct list *orders = &link->shard->barrier;
    assert(link->shard->index == 0);
    for (struct list *node = orders->next; node != orders; node = node->next)
        list_entry(node, struct order, by_barrier)->barrier_ping = 0;
    link->said_serial = link->shard->agents.serials; // lists are compared
}

void name_claim_pong(struct link *link) {
    assert(link->pongs > 0);
    for (struct order *order; (order = first_unconfirmed(link->shard));) {
        if (!order->barrier_ping || order->barrier_ping > link->pongs)
            return;
        registry_confirmed(link->shard, order);
    }
}

void name_claim_follow(struct link *link) {
    struct claim_table *asking = link->shard->claims;
    assert(link->shard->index == 0);
    asking->open = is_open(link);
    if (!asking->open) {
        close_all(link);
        follow_confirmations(link);
        return;
    }
    struct list *node = first_unasked(link->shard);
    if (node != &asking->orders)
        nats_follow_registry(link); // the names are subscribed before they are asked for
    for (struct list *next; node != &asking->orders && is_open(link); node = next) {
        next = node->next;
        ask(link, order_at(node));
    }
    if (is_open(link))
        ask_attachments(link);
    follow_confirmations(link);
}

// --- Time

static void expire(struct link *link) {
    struct shard *shard = link->shard;
    struct list *asked = &shard->claims->orders, *confirming = &shard->barrier,
                *attach = &shard->attach_queries;
    uint64_t now_ms = shard_now_ms(shard);
    assert(link->shard->index == 0);
    while (!list_empty(asked) && order_at(asked->next)->claim_number &&
           now_ms - order_at(asked->next)->claimed_ms >= CLUSTER_CLAIM_MS)
        registry_claimed(shard, order_at(asked->next), false);
    for (struct list *node = confirming->next, *next; node != confirming; node = next) {
        struct order *order = list_entry(node, struct order, by_barrier);
        next = node->next;
        if (now_ms - order->barrier_ms >= CLUSTER_CONFIRM_MS)
            registry_confirmed(shard, order);
    }
    for (struct list *node = attach->next, *next; node != attach; node = next) {
        struct attach_query *query = list_entry(node, struct attach_query, link);
        next = node->next;
        if (query->number && now_ms - query->asked_ms >= CLUSTER_CLAIM_MS)
            remote_attach_over(shard, query, ATTACH_NOBODY);
    }
}

// Agents stand in the order of their serials, and have been held in that order.
static void say_again(struct link *link) {
    const struct shard *shard = link->shard;
    const struct list *all = &shard->agents.all, *node = all->prev;
    uint64_t now_ms = shard_now_ms(shard);
    assert(link->shard->index == 0);
    while (node != all && list_entry(node, struct agent, link)->serial > link->said_serial)
        node = node->prev;
    for (node = node->next; node != all && is_open(link); node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, link);
        char token[SUBJECT_NAME_BYTES_MAX];
        struct text json;
        if (now_ms - agent->held_since_ms < CLUSTER_CLAIM_AGAIN_MS)
            return;
        link->said_serial = agent->serial;
        if ((agent->pool_bytes && agent->pool_bytes != agent->id_bytes) ||
            !subject_escape(token, agent->id, agent->id_bytes))
            continue;
        begin_words(&json, agent->id, agent->id_bytes);
        put_holding(&json, shard, agent);
        text_put(&json, "}");
        publish_name(link, agent->id, agent->id_bytes, ++link->numbers, NULL, &json);
    }
}

// The lesser NODE asks a hub that it first hears, or again, what it holds.
static void compare_new(struct link *link) {
    struct list *all = &link->members.all;
    assert(link->shard->index == 0);
    for (struct list *node = all->next; node != all && is_open(link); node = node->next) {
        struct cluster_member *member = list_entry(node, struct cluster_member, link);
        char subject[SUBJECT_BYTES_MAX];
        static const char brief[] = "{\"brief\":true}";
        if (!member->is_new || !member->is_served)
            continue;
        member->is_new = false;
        if (!is_lesser(link, member))
            continue;
        struct hub_words words = {.subject = subject, .json = brief, .json_bytes = sizeof brief - 1};
        words.answer = ++link->numbers;
        words.subject_bytes = subject_write_hub(subject, link->shard->hub->settings.cluster->name,
                                                &member->hub, SUBJECT_AGENTS, 0);
        nats_publish(link, &words);
    }
}

void name_claim_tick(struct link *link) {
    assert(link->shard->index == 0);
    expire(link);
    if (!is_open(link))
        return;
    say_again(link);
    compare_new(link);
}
