#include "router/features/cluster/inflight.h"

#include <assert.h>
#include <string.h>

#include "router/engine/send/exchange.h"
#include "router/features/cluster/nats_subscriptions.h"

void inflight_init(struct inflight *inflight, const struct siphash_key *key, struct quota *quota) {
    *inflight = (struct inflight){.quota = quota};
    inflight->key = *key;
    inflight->secret = siphash_table(key, "crossings", 9);
    hash_table_init(&inflight->out, quota);
    hash_table_init(&inflight->in, quota);
    cluster_members_init(&inflight->cluster_members, key, quota);
    list_init(&inflight->untaken);
    list_init(&inflight->strays);
    list_init(&inflight->again);
}

static void forget_lists(struct inflight *inflight, struct list *out, struct list *in) {
    while (!list_empty(out))
        inflight_remove(inflight, list_entry(out->next, struct outbound_request, link));
    while (!list_empty(in))
        inflight_leave(inflight, list_entry(in->next, struct inbound_request, link));
}

void inflight_forget(struct inflight *inflight) {
    struct list *all = &inflight->cluster_members.all;
    while (!list_empty(all)) {
        struct cluster_member *remote = list_entry(all->next, struct cluster_member, link);
        forget_lists(inflight, &remote->owes, &remote->asked);
        cluster_members_remove(&inflight->cluster_members, remote);
    }
    forget_lists(inflight, &inflight->untaken, &inflight->strays);
    forget_lists(inflight, &inflight->again, &inflight->strays);
    assert(inflight->out.count == 0 && inflight->in.count == 0);
}

void inflight_deinit(struct inflight *inflight) {
    inflight_forget(inflight);
    cluster_members_deinit(&inflight->cluster_members);
    hash_table_deinit(&inflight->out);
    hash_table_deinit(&inflight->in);
    freelist_release(&inflight->out_spares, inflight->quota);
    freelist_release(&inflight->in_spares, inflight->quota);
}

void inflight_shrink(struct inflight *inflight) {
    freelist_shrink(&inflight->out_spares, inflight->quota);
    freelist_shrink(&inflight->in_spares, inflight->quota);
}

enum { TOKEN_BYTES_SHORT = OUTBOUND_REQUEST_BYTES_MIN - sizeof(struct outbound_request) };

static struct outbound_request *take_crossing(struct inflight *inflight, uint32_t token_bytes) {
    struct outbound_request *spare =
        token_bytes <= TOKEN_BYTES_SHORT ? freelist_take(&inflight->out_spares) : NULL;
    uint32_t bytes = token_bytes < TOKEN_BYTES_SHORT ? TOKEN_BYTES_SHORT : token_bytes;
    return spare ? spare : quota_take(inflight->quota, sizeof *spare + bytes);
}

static void give_crossing(struct inflight *inflight, struct outbound_request *outbound) {
    assert(!outbound->rest);
    if (outbound->token_bytes <= TOKEN_BYTES_SHORT)
        freelist_give(&inflight->out_spares, inflight->quota, outbound);
    else
        quota_give(inflight->quota, outbound);
}

struct outbound_request *inflight_add(struct inflight *inflight, uint64_t hub_id, enum subject_kind kind,
                                      const void *token, uint32_t token_bytes) {
    struct outbound_request *outbound = take_crossing(inflight, token_bytes);
    assert(hub_id && !inflight_find(inflight, hub_id));
    if (!outbound)
        return NULL;
    *outbound =
        (struct outbound_request){.hub_id = hub_id, .kind = (uint8_t)kind, .token_bytes = token_bytes};
    memcpy(outbound->token, token, token_bytes);
    if (!hash_table_add(&inflight->out, &outbound->node, hash_table_hash(hub_id, inflight->secret))) {
        give_crossing(inflight, outbound);
        return NULL;
    }
    list_append(&inflight->untaken, &outbound->link);
    return outbound;
}

static struct outbound_request *look_up(const struct inflight *inflight, uint64_t hub_id) {
    struct hash_node *node = hash_table_find(&inflight->out, hash_table_hash(hub_id, inflight->secret));
    while (node && hash_table_entry(node, struct outbound_request, node)->hub_id != hub_id)
        node = hash_table_next(node);
    return node ? hash_table_entry(node, struct outbound_request, node) : NULL;
}

struct outbound_request *inflight_find(struct inflight *inflight, uint64_t hub_id) {
    if (!inflight->found || inflight->found->hub_id != hub_id)
        inflight->found = look_up(inflight, hub_id);
    return inflight->found;
}

struct outbound_request *inflight_find_sent(struct inflight *inflight, uint64_t hub_id) {
    struct outbound_request *outbound = inflight_find(inflight, hub_id);
    assert(!outbound || !outbound->waits || !outbound->taker);
    return outbound && !outbound->waits ? outbound : NULL;
}

struct outbound_request_rest *inflight_rest(struct inflight *inflight, struct outbound_request *outbound) {
    assert(inflight_find(inflight, outbound->hub_id) == outbound);
    if (!outbound->rest)
        outbound->rest = quota_take_zeroed(inflight->quota, 1, sizeof *outbound->rest);
    return outbound->rest;
}

static void give_rest(struct inflight *inflight, struct outbound_request *outbound) {
    assert(outbound->rest);
    quota_give(inflight->quota, outbound->rest->words);
    quota_give(inflight->quota, outbound->rest->refusal);
    quota_give(inflight->quota, outbound->rest);
    outbound->rest = NULL;
}

void inflight_take_out(struct inflight *inflight, struct outbound_request *outbound) {
    assert(inflight_find(inflight, outbound->hub_id) == outbound);
    inflight->found = NULL;
    hash_table_remove(&inflight->out, &outbound->node);
    list_remove(&outbound->link);
    if (__builtin_expect(outbound->rest != NULL, false))
        give_rest(inflight, outbound);
}

void inflight_remove(struct inflight *inflight, struct outbound_request *outbound) {
    inflight_take_out(inflight, outbound);
    give_crossing(inflight, outbound);
}

void inflight_go_again(struct inflight *inflight, struct outbound_request *outbound) {
    assert(outbound_request_refusal(outbound) && !outbound->taker);
    memset(outbound->rest->denied, 0, sizeof outbound->rest->denied);
    outbound->unsure = false;
    outbound->waits = true;
    list_remove(&outbound->link);
    list_append(&inflight->again, &outbound->link);
}

void inflight_gone_again(struct inflight *inflight, struct outbound_request *outbound, uint64_t now_ms) {
    assert(outbound->waits && now_ms >= outbound->sent_ms);
    outbound->waits = false;
    outbound->sent_ms = now_ms;
    list_remove(&outbound->link);
    list_append(&inflight->untaken, &outbound->link);
}

void inflight_take(struct outbound_request *outbound, struct cluster_member *taker) {
    assert(!outbound->taker && taker);
    outbound->taker = taker;
    list_remove(&outbound->link);
    list_append(&taker->owes, &outbound->link);
}

// All of it, and keyed: whoever asks chooses where it is answered, and the number there, of which hubs give each once.
static uint64_t hash_of(const struct inflight *inflight, const struct reply_address *passage) {
    assert(passage->reply_bytes || (passage->hub && passage->number));
    if (passage->reply_bytes)
        return siphash_table(&inflight->key, passage->reply, passage->reply_bytes);
    return hash_table_hash(hash_table_hash(passage->number, passage->hub->secret), inflight->secret);
}

// Where the reply is said it alone tells them apart: no hub's own is written so (inbound_response.c).
static bool is_there(const struct inbound_request *inbound, const struct reply_address *passage) {
    assert(!passage->reply_bytes || passage->reply);
    if (inbound->reply_bytes != passage->reply_bytes)
        return false;
    return passage->reply_bytes ? memcmp(inbound->reply, passage->reply, passage->reply_bytes) == 0
                                : inbound->hub == passage->hub && inbound->number == passage->number;
}

static struct inbound_request *look_for(const struct inflight *inflight, const struct reply_address *passage,
                                        uint64_t hash) {
    struct hash_node *node = hash_table_find(&inflight->in, hash);
    assert(passage->reply_bytes <= SUBJECT_BYTES_MAX);
    while (node && !is_there(hash_table_entry(node, struct inbound_request, node), passage))
        node = hash_table_next(node);
    return node ? hash_table_entry(node, struct inbound_request, node) : NULL;
}

struct inbound_request *inflight_visitor(const struct inflight *inflight, const struct cluster_member *hub,
                                         uint64_t number) {
    struct reply_address passage = {.hub = (struct cluster_member *)hub, .number = number};
    assert(hub && number);
    return look_for(inflight, &passage, hash_of(inflight, &passage));
}

static struct inbound_request *take_visitor(struct inflight *inflight, uint32_t reply_bytes) {
    struct inbound_request *spare = reply_bytes ? NULL : freelist_take(&inflight->in_spares);
    return spare ? spare : quota_take(inflight->quota, sizeof *spare + reply_bytes);
}

static void give_visitor(struct inflight *inflight, struct inbound_request *inbound) {
    assert(!inbound->exchange || inbound->exchange->inbound != inbound);
    if (inbound->reply_bytes)
        quota_give(inflight->quota, inbound);
    else
        freelist_give(&inflight->in_spares, inflight->quota, inbound);
}

struct inbound_request *inflight_enter(struct inflight *inflight, struct exchange *exchange,
                                       const struct reply_address *passage, bool *is_known) {
    uint64_t hash = hash_of(inflight, passage);
    assert(exchange && !exchange->inbound && (passage->hub != NULL) == (passage->number != 0));
    *is_known = look_for(inflight, passage, hash);
    struct inbound_request *inbound = *is_known ? NULL : take_visitor(inflight, passage->reply_bytes);
    if (!inbound)
        return NULL;
    *inbound = (struct inbound_request){.exchange = exchange,
                                        .hub = passage->hub,
                                        .number = passage->number,
                                        .present = passage->present,
                                        .reply_bytes = passage->reply_bytes};
    if (passage->reply_bytes)
        memcpy(inbound->reply, passage->reply, passage->reply_bytes);
    if (!hash_table_add(&inflight->in, &inbound->node, hash)) {
        give_visitor(inflight, inbound);
        return NULL;
    }
    if (inbound->present)
        inbound->present->visitors++;
    list_append(inbound->hub ? &inbound->hub->asked : &inflight->strays, &inbound->link);
    exchange->inbound = inbound;
    return inbound;
}

void inflight_leave(struct inflight *inflight, struct inbound_request *inbound) {
    assert(inbound->exchange->inbound == inbound);
    inbound->exchange->inbound = NULL;
    hash_table_remove(&inflight->in, &inbound->node);
    list_remove(&inbound->link);
    if (inbound->present)
        nats_subscriptions_left(inbound->present, inflight->quota);
    give_visitor(inflight, inbound);
}
