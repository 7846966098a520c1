#include "router/features/cluster/name_claim.h"

#include <assert.h>
#include <string.h>

#include "router/engine/shard/identity.h"
#include "router/features/cluster/inbound_identity.h"
#include "router/features/cluster/name_conflict.h"
#include "router/features/cluster/nats_publish.h"
#include "router/registry/claim_table.h"
#include "router/registry/registry.h"

static struct order *asking_at(struct list *node) {
    return list_entry(node, struct order, asking);
}

static bool is_open(const struct link *link) {
    return link->state == LINK_UP && link->peer->state == PEER_OPEN;
}

// --- Asking

static bool any_unheard(const struct order *order) {
    uint64_t left = 0;
    for (uint32_t word = 0; word < ORDER_HUB_WORDS; word++)
        left |= order->unheard[word];
    return left != 0;
}

static bool is_unheard(const struct order *order, const struct cluster_member *remote) {
    return remote->place < CLUSTER_MEMBERS_MAX && remote->known_ms < order->asked_ms &&
           order->unheard[remote->place / 64] >> remote->place % 64 & 1;
}

// Who hasn't said anything may hold it, and so may who wasn't known yet when it was asked.
static bool is_unsure(const struct order *order, const struct cluster_member *remote) {
    return remote->place == CLUSTER_MEMBERS_MAX || remote->known_ms >= order->asked_ms ||
           is_unheard(order, remote);
}

// Who hasn't answered may be there no more: the server knows, and then the next registration doesn't wait for it.
static void knock(struct link *link, const struct cluster_member *remote) {
    struct text nothing;
    assert(link->peer);
    text_init(&nothing);
    nats_publish_ask(link, remote->name, &nothing);
    text_deinit(&nothing);
}

static void count_as_free(struct link *link, struct order *order) {
    struct list *all = &link->inflight.cluster_members.all;
    for (struct list *node = all->next; node != all; node = node->next) {
        struct cluster_member *remote = list_entry(node, struct cluster_member, link);
        if (!is_unsure(order, remote))
            continue;
        name_conflict_begin(link, remote);
        if (is_unheard(order, remote))
            knock(link, remote);
    }
    registry_asked(link->shard, order, false);
}

// A name that no subject can bear exists here alone.
static void ask(struct link *link, struct order *order) {
    static_assert((int)ORDER_HUB_WORDS == (int)CLUSTER_MEMBER_WORDS, "there is a place for each neighbour");
    struct shard *shard = link->shard;
    char token[SUBJECT_NAME_BYTES_MAX];
    size_t bytes = subject_escape(token, order->agent_id, order->agent_id_bytes);
    assert(!order->asked_by && !order->heard);
    memcpy(order->unheard, link->inflight.cluster_members.places, sizeof order->unheard);
    claim_table_sent(shard->asking, order, ++link->holders_asked, shard_now_ms(shard));
    if (bytes)
        nats_publish_holder(link, order->asked_by, token, bytes, shard->settings->takeover, order->owner);
    else
        registry_asked(shard, order, false);
}

// Those that nobody was asked for are the last ones.
static void ask_all(struct link *link) {
    struct list *all = &link->shard->asking->all, *node = all;
    while (node->prev != all && !asking_at(node->prev)->asked_by)
        node = node->prev;
    for (struct list *next; node != all && is_open(link); node = next) {
        next = node->next;
        ask(link, asking_at(node));
    }
}

static void begin_all(struct link *link) {
    struct list *all = &link->inflight.cluster_members.all;
    for (struct list *node = all->next; node != all; node = node->next)
        name_conflict_begin(link, list_entry(node, struct cluster_member, link));
}

void name_claim_follow(struct link *link) {
    struct claim_table *asking = link->shard->asking;
    assert(link->shard->index == 0);
    asking->open = is_open(link);
    while (!asking->open && !list_empty(&asking->all))
        registry_asked(link->shard, asking_at(asking->all.next), false);
    if (!asking->open)
        return;
    ask_all(link);
    if (asking->unasked)
        begin_all(link);
    asking->unasked = false;
}

void name_claim_expire(struct link *link) {
    struct list *all = &link->shard->asking->all;
    uint64_t now_ms = shard_now_ms(link->shard);
    while (!list_empty(all)) {
        struct order *order = asking_at(all->next);
        if (!order->asked_by || now_ms - order->asked_ms < LINK_HOLDER_MS)
            return;
        count_as_free(link, order);
    }
}

uint64_t name_claim_due_ms(const struct link *link) {
    struct list *all = &link->shard->asking->all;
    const struct order *oldest = list_empty(all) ? NULL : asking_at(all->next);
    return oldest && oldest->asked_by ? oldest->asked_ms + LINK_HOLDER_MS : UINT64_MAX;
}

// NULL: there is no place to know it by; that it holds the name counts all the same.
static void take_word(struct link *link, struct cluster_member *remote, uint64_t number, bool held) {
    struct order *order = number ? claim_table_number(link->shard->asking, number) : NULL;
    assert(!order || order->asked_by == number);
    if (!order && held && remote)
        name_conflict_begin(link, remote); // too late
    if (!order || (!remote && !held))
        return;
    if (remote && remote->place < CLUSTER_MEMBERS_MAX)
        order->unheard[remote->place / 64] &= ~(UINT64_C(1) << remote->place % 64);
    order->heard = true;
    if (held)
        registry_asked(link->shard, order, true);
    else if (!any_unheard(order))
        count_as_free(link, order);
}

void name_claim_hear(struct link *link, const uint8_t *bytes, const struct hub_header *header) {
    struct cluster_member *remote = cluster_members_find(&link->inflight.cluster_members, header->hub);
    struct span held = header->held, free = header->free;
    uint64_t number;
    while (hub_header_next(bytes, &held, &number))
        take_word(link, remote, number, true);
    while (hub_header_next(bytes, &free, &number))
        take_word(link, remote, number, false);
}

void name_claim_nobody(struct link *link, uint64_t number) {
    struct order *order = number ? claim_table_number(link->shard->asking, number) : NULL;
    if (order)
        count_as_free(link, order);
}

// --- Answering

// Whether it may be taken as one at this hub might take it: where users are on, by who has it alone.
static bool may_be_taken(const struct shard *shard, const struct agent *agent, const uint8_t *bytes,
                         const struct hub_header *header) {
    bool known;
    const struct user *user = inbound_identity_user(shard, bytes, header, &known);
    return header->takes_over && shard->settings->takeover && !agent->child && known &&
           (!user || identity_same(user, agent->owner));
}

static bool is_held(struct link *link, const uint8_t *text, const struct hub_header *header, const char *id,
                    size_t bytes) {
    struct shard *shard = link->shard;
    const struct agent *agent = agents_find(&shard->agents, id, bytes);
    if (agent)
        return !may_be_taken(shard, agent, text, header) || !registry_yield(shard, link->peer->name, agent);
    struct order *order = claim_table_find(shard->asking, id, bytes);
    if (order && memcmp(link->hub, header->hub, HUB_NAME_BYTES) < 0)
        return true;
    if (order)
        registry_asked(shard, order, true);
    return false;
}

bool name_claim_take(struct link *link, const uint8_t *bytes, const struct hub_header *header,
                     struct span token) {
    char id[AGENT_ID_BYTES_MAX];
    struct text list;
    assert(link->peer);
    size_t count = subject_unescape(id, sizeof id, bytes + token.at, token.bytes);
    if (!header->given || !header->has_hub || !header->holder || count == SIZE_MAX ||
        !agent_id_valid(id, count))
        return false;
    text_init(&list);
    nats_publish_put_number(&list, header->holder);
    nats_publish_list(link, header->hub, is_held(link, bytes, header, id, count) ? "held" : "free", &list);
    text_deinit(&list);
    return true;
}
