#include "router/features/cluster/name_claim.h"

#include <assert.h>
#include <string.h>

#include "io/log.h"
#include "router/engine/send/reply.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/features/cluster/nats_handshake.h"
#include "router/features/cluster/nats_publish.h"
#include "router/features/cluster/remote_directory.h"
#include "router/registry/claim_table.h"
#include "router/registry/registry.h"
#include "router/routing/remote_attach.h"

static struct order *order_at(struct list *node) {
    return list_entry(node, struct order, by_table);
}

// --- Publishing names

// Publishes a message about a name. Returns false if no subject can have the name.
static bool publish_name(struct link *link, const char *id, size_t bytes, uint64_t number, const char *user,
                         struct text *json) {
    struct hub_words words = {
        .kind = SUBJECT_NAME, .name = id, .name_bytes = bytes, .number = number, .user = user};
    assert(id && bytes > 0);
    return nats_publish(link, &words, json);
}

// Writes that this hub holds the name, and for how long, in ms.
static void put_holding(struct text *json, const struct shard *shard, const struct agent *agent) {
    assert(agent->held_since_ms <= shard_now_ms(shard));
    reply_data_number(json, "ageMs", (int64_t)(shard_now_ms(shard) - agent->held_since_ms));
    if (agent->child)
        text_put(json, feature_has_tools(shard, agent->id, agent->id_bytes) ? ",\"child\":true,\"mcp\":true"
                                                                            : ",\"child\":true");
}

// --- Two hubs hold one name

static bool is_lesser(const struct link *link, const struct cluster_member *member) {
    return hub_name_compare_nodes(&link->hub, &member->hub) < 0;
}

static void give_up(struct link *link, const struct agent *agent) {
    assert(!agent->child);
    stats_count(&link->shard->stats, FEATURE_COUNTER(FEATURE_CLUSTER, CLUSTER_COUNT_NAMES_YIELDED));
    log_write(LOG_NAME_CONFLICT, LOG_FIELDS(log_bytes(agent->id, agent->id_bytes)),
              "cluster: agent %.*s is held at another hub: given up here", (int)agent->id_bytes, agent->id);
    if (!registry_yield(link->shard, link->peer->connection_id, agent)) // the next link compares again
        peer_close(link->shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

// Decides about a name that two hubs hold. Only the hub with the lesser NODE decides, so that both don't keep the name.
// The younger agent yields; a child never yields.
static void judge(struct link *link, struct cluster_member *member, const char *id, size_t bytes,
                  uint64_t age_ms, bool is_child) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, id, bytes);
    struct text json;
    assert(bytes <= AGENT_ID_BYTES_MAX);
    if (!agent || !is_lesser(link, member) || (is_child && agent->child))
        return;
    bool stays = agent->child || (!is_child && shard_now_ms(shard) - agent->held_since_ms >= age_ms);
    if (!stays) {
        give_up(link, agent);
        return;
    }
    text_init(&json);
    reply_data_string(&json, "agentId", id, bytes);
    text_put(&json, "}");
    nats_publish(link, &(struct hub_words){.kind = SUBJECT_YIELD, .hub = &member->hub}, &json);
}

// The fields of a message about a name.
struct name_words {
    size_t bytes; // of the name
    bool is_held, takes_over, is_child, is_mcp, attaches, has_age;
    uint64_t age_ms;
    char id[AGENT_ID_BYTES_MAX];
};

// Returns whether there is a valid name.
static bool read_words(const uint8_t *body, struct span all, struct name_words *out) {
    out->is_held = json_member_true(body, all, "held");
    out->takes_over = json_member_true(body, all, "takeover");
    out->is_child = json_member_true(body, all, "child");
    out->is_mcp = json_member_true(body, all, "mcp");
    out->attaches = json_member_true(body, all, "attach");
    out->has_age = json_member(body, all, "ageMs").type == JSON_NUMBER;
    out->age_ms = json_member_whole(body, all, "ageMs");
    out->bytes = json_member_text(body, all, "agentId", out->id, sizeof out->id);
    return out->bytes != SIZE_MAX && agent_id_valid(out->id, out->bytes);
}

void name_claim_compare(struct link *link, const struct hub_message *message, struct span agents) {
    struct json_walk walk;
    struct name_words words;
    assert(agents.bytes > 0);
    json_walk_begin(&walk, message->body, agents);
    for (struct json_item item; link->peer->state == PEER_OPEN && json_next(&walk, &item) == JSON_ITEM;) {
        if (read_words(message->body, item.value, &words))
            judge(link, message->member, words.id, words.bytes, words.age_ms, words.is_child);
    }
}

bool name_claim_yield(struct link *link, const struct hub_message *message) {
    struct name_words words;
    assert(message->member);
    if (!read_words(message->body, message->json, &words))
        return false;
    const struct agent *agent = agents_find(&link->shard->agents, words.id, words.bytes);
    if (agent && !agent->child)
        give_up(link, agent);
    return true;
}

// --- Questions of other hubs

// Returns whether an agent of another hub may take over the name here. The same rule holds between agents of one hub:
// with a users file, only the owner's user may.
static bool may_be_taken(const struct shard *shard, const struct agent *agent, const struct user *user) {
    return shard->settings->takeover && !agent->child &&
           (!shard->settings->users || (user && identity_same(user, agent->owner)));
}

// Returns whether this hub holds the name, or has the earlier claim to it.
static bool is_held(struct link *link, struct cluster_member *member, const struct name_words *words,
                    const struct user *user) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, words->id, words->bytes);
    if (agent && words->takes_over && may_be_taken(shard, agent, user))
        return !registry_yield(shard, link->peer->connection_id, agent);
    if (agent)
        return true;
    struct order *order = claim_table_find(shard->claims, words->id, words->bytes);
    if (order && is_lesser(link, member))
        return true;
    if (order)
        registry_claimed(shard, order, true); // the claim here fails at once
    return false;
}

static void answer_held(struct link *link, struct cluster_member *member, const struct name_words *words,
                        uint64_t number) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, words->id, words->bytes);
    struct hub_words to = {.kind = SUBJECT_ANSWER, .hub = &member->hub, .number = number};
    struct text json;
    assert(number);
    text_init(&json);
    reply_data_string(&json, "agentId", words->id, words->bytes);
    text_put(&json, ",\"held\":true");
    if (agent)
        put_holding(&json, shard, agent);
    text_put(&json, "}");
    nats_publish(link, &to, &json);
}

bool name_claim_take(struct link *link, const struct hub_message *message) {
    struct cluster_member *member = message->member;
    uint64_t reply = hub_message_reply(message);
    struct name_words words;
    assert(message->member);
    if (!read_words(message->body, message->json, &words))
        return false;
    const struct agent *agent = agents_find(&link->shard->agents, words.id, words.bytes);
    if (words.has_age && agent) // a message with an age is no claim: a hub tells that it holds the name
        judge(link, member, words.id, words.bytes, words.age_ms, words.is_child);
    bool is_told = words.attaches  ? agent && !agent->local_only
                   : words.has_age ? agent && !is_lesser(link, member)
                                   : is_held(link, member, &words, hub_message_user(link, message));
    if (is_told && reply)
        answer_held(link, member, &words, reply);
    return true;
}

// --- Answers of other hubs

static struct attach_query *attach_of(const struct shard *shard, uint64_t number) {
    LIST_EACH (struct attach_query, query, &shard->attach_queries, link)
        if (query->number == number)
            return query;
    return NULL;
}

void name_claim_answer(struct link *link, const struct hub_message *message) {
    struct shard *shard = link->shard;
    struct cluster_member *member = message->member;
    uint64_t number = message->subject.number;
    struct order *order = claim_table_number(shard->claims, number);
    struct attach_query *query = order ? NULL : attach_of(shard, number);
    struct name_words words = {0};
    assert(message->subject.number);
    bool has_name = member && read_words(message->body, message->json, &words);
    if (order && (!member || words.is_held))
        registry_claimed(shard, order, words.is_held);
    else if (query && (!member || words.is_held))
        remote_attach_over(shard, query,
                           !member        ? ATTACH_NOBODY
                           : words.is_mcp ? ATTACH_SERVER
                                          : ATTACH_FOUND);
    else if (has_name && words.is_held)
        judge(link, member, words.id, words.bytes, words.age_ms, words.is_child);
}

// --- Questions to other hubs

static void ask(struct link *link, struct order *order) {
    struct shard *shard = link->shard;
    struct text json;
    assert(!order->claim_number);
    claim_table_sent(shard->claims, order, ++link->numbers, shard_now_ms(shard));
    text_init(&json);
    reply_data_string(&json, "agentId", order->agent_id, order->agent_id_bytes);
    text_put(&json, shard->settings->takeover ? ",\"takeover\":true}" : ",\"takeover\":false}");
    if (!publish_name(link, order->agent_id, order->agent_id_bytes, order->claim_number,
                      order->owner ? order->owner->name : NULL, &json))
        registry_claimed(shard, order, false); // no subject can have the name, so other hubs can't hold it
}

// Returns the first claim that no hub was asked about yet. Such claims are the last ones of the list.
static struct list *first_unasked(const struct shard *shard) {
    struct list *all = &shard->claims->orders, *node = all;
    while (node->prev != all && !order_at(node->prev)->claim_number)
        node = node->prev;
    return node;
}

static void ask_attachments(struct link *link) {
    assert(link_is_open(link));
    LIST_EACH (struct attach_query, query, &link->shard->attach_queries, link) {
        struct text json;
        if (query->number)
            continue;
        query->number = ++link->numbers;
        query->asked_ms = shard_now_ms(link->shard);
        text_init(&json);
        reply_data_string(&json, "agentId", attach_query_agent(query), query->agent_bytes);
        text_put(&json, ",\"attach\":true}");
        publish_name(link, attach_query_agent(query), query->agent_bytes, query->number, NULL, &json);
    }
}

static void close_all(struct shard *shard) {
    struct list *orders = &shard->claims->orders, *queries = &shard->attach_queries;
    while (!list_empty(orders))
        registry_claimed(shard, order_at(orders->next), false);
    while (!list_empty(queries))
        remote_attach_over(shard, list_entry(queries->next, struct attach_query, link), ATTACH_DOWN);
}

// --- Registrations that wait for the server's PONG

static struct order *first_unconfirmed(const struct shard *shard) {
    const struct list *orders = &shard->barrier;
    return list_empty(orders) ? NULL : list_entry(orders->next, struct order, by_barrier);
}

static void follow_confirmations(struct link *link) {
    struct shard *shard = link->shard;
    bool any = false;
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

void name_claim_link_up(struct link *link) {
    LIST_EACH (struct order, order, &link->shard->barrier, by_barrier)
        order->barrier_ping = 0;
    // Older names are compared by lists
    link->claimed_serial = link->late_serial = link->shard->agents.serials;
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
    struct claim_table *claims = link->shard->claims;
    assert(link->shard->index == 0);
    claims->open = link_is_open(link);
    if (!claims->open) {
        close_all(link->shard);
        follow_confirmations(link);
        return;
    }
    struct list *node = first_unasked(link->shard);
    if (node != &claims->orders)
        nats_follow_registry(link); // the names must be subscribed before other hubs are asked
    for (struct list *next; node != &claims->orders && link_is_open(link); node = next) {
        next = node->next;
        ask(link, order_at(node));
    }
    if (link_is_open(link))
        ask_attachments(link);
    follow_confirmations(link);
}

// --- Time

static void expire(struct link *link) {
    struct shard *shard = link->shard;
    struct list *asked = &shard->claims->orders;
    uint64_t now_ms = shard_now_ms(shard);
    while (!list_empty(asked) && order_at(asked->next)->claim_number &&
           now_ms - order_at(asked->next)->claimed_ms >= CLUSTER_CLAIM_MS)
        registry_claimed(shard, order_at(asked->next), false);
    LIST_EACH (struct order, order, &shard->barrier, by_barrier)
        if (now_ms - order->barrier_ms >= CLUSTER_CONFIRM_MS)
            registry_confirmed(shard, order);
    LIST_EACH (struct attach_query, query, &shard->attach_queries, link)
        if (query->number && now_ms - query->asked_ms >= CLUSTER_CLAIM_MS)
            remote_attach_over(shard, query, ATTACH_NOBODY);
}

// Publishes again the names of agents that have been held for age_ms. *said is the serial of the last agent published.
// The list of agents is in the order of serials, and of times.
static void claim_again(struct link *link, uint64_t *said, uint64_t age_ms) {
    const struct shard *shard = link->shard;
    const struct list *all = &shard->agents.all, *node = all->prev;
    uint64_t now_ms = shard_now_ms(shard);
    assert(*said <= shard->agents.serials);
    while (node != all && list_entry(node, struct agent, link)->serial > *said)
        node = node->prev;
    for (node = node->next; node != all && link_is_open(link); node = node->next) {
        const struct agent *agent = list_entry(node, struct agent, link);
        struct text json;
        if (now_ms - agent->held_since_ms < age_ms)
            return;
        *said = agent->serial;
        if (agent->pool_bytes && agent->pool_bytes != agent->id_bytes)
            continue;
        text_init(&json);
        reply_data_string(&json, "agentId", agent->id, agent->id_bytes);
        put_holding(&json, shard, agent);
        text_put(&json, "}");
        publish_name(link, agent->id, agent->id_bytes, ++link->numbers, NULL, &json);
    }
}

// Asks new members for the names they hold. Only the hub with the lesser NODE asks.
static void compare_new(struct link *link) {
    LIST_EACH (struct cluster_member, member, &link->members.all, link) {
        bool is_asked = link_is_open(link) && member->is_new && member->is_served && is_lesser(link, member);
        if (link_is_open(link) && member->is_served)
            member->is_new = false;
        if (is_asked)
            remote_directory_ask(link, member, "{\"brief\":true}");
    }
}

void name_claim_tick(struct link *link) {
    expire(link);
    if (!link_is_open(link))
        return;
    claim_again(link, &link->claimed_serial, CLUSTER_CLAIM_AGAIN_MS);
    claim_again(link, &link->late_serial, CLUSTER_CLAIM_LATE_MS);
    compare_new(link);
}
