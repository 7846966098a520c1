#include "router/transport/crossings.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/bundle.h"
#include "router/engine/send/exchange.h"
#include "router/transport/presence.h"

void crossings_init(struct crossings *crossings, const struct siphash_key *key, struct quota *kept) {
    *crossings = (struct crossings){.kept = kept};
    crossings->key = *key;
    crossings->secret = siphash_table(key, "crossings", 9);
    hash_table_init(&crossings->out, kept);
    hash_table_init(&crossings->in, kept);
    neighbours_init(&crossings->neighbours, key, kept);
    list_init(&crossings->untaken);
    list_init(&crossings->strays);
    list_init(&crossings->again);
}

static void forget_lists(struct crossings *crossings, struct list *out, struct list *in) {
    while (!list_empty(out))
        crossings_remove(crossings, list_entry(out->next, struct crossing, link));
    while (!list_empty(in))
        crossings_leave(crossings, list_entry(in->next, struct visitor, link));
}

void crossings_forget(struct crossings *crossings) {
    struct list *all = &crossings->neighbours.all;
    while (!list_empty(all)) {
        struct neighbour *neighbour = list_entry(all->next, struct neighbour, link);
        forget_lists(crossings, &neighbour->owes, &neighbour->asked);
        neighbours_remove(&crossings->neighbours, neighbour);
    }
    forget_lists(crossings, &crossings->untaken, &crossings->strays);
    forget_lists(crossings, &crossings->again, &crossings->strays);
    assert(crossings->out.count == 0 && crossings->in.count == 0);
}

void crossings_deinit(struct crossings *crossings) {
    crossings_forget(crossings);
    neighbours_deinit(&crossings->neighbours);
    hash_table_deinit(&crossings->out);
    hash_table_deinit(&crossings->in);
    freelist_release(&crossings->out_spares, crossings->kept);
    freelist_release(&crossings->in_spares, crossings->kept);
}

void crossings_shrink(struct crossings *crossings) {
    freelist_shrink(&crossings->out_spares, crossings->kept);
    freelist_shrink(&crossings->in_spares, crossings->kept);
}

enum { TOKEN_BYTES_SHORT = CROSSING_BYTES_MIN - sizeof(struct crossing) };

static struct crossing *take_crossing(struct crossings *crossings, uint32_t token_bytes) {
    struct crossing *spare = token_bytes <= TOKEN_BYTES_SHORT ? freelist_take(&crossings->out_spares) : NULL;
    uint32_t bytes = token_bytes < TOKEN_BYTES_SHORT ? TOKEN_BYTES_SHORT : token_bytes;
    return spare ? spare : quota_take(crossings->kept, sizeof *spare + bytes);
}

static void give_crossing(struct crossings *crossings, struct crossing *crossing) {
    assert(!crossing->rest);
    if (crossing->token_bytes <= TOKEN_BYTES_SHORT)
        freelist_give(&crossings->out_spares, crossings->kept, crossing);
    else
        quota_give(crossings->kept, crossing);
}

struct crossing *crossings_add(struct crossings *crossings, uint64_t hub_id, enum subject_kind kind,
                               const void *token, uint32_t token_bytes) {
    struct crossing *crossing = take_crossing(crossings, token_bytes);
    assert(hub_id && !crossings_find(crossings, hub_id));
    if (!crossing)
        return NULL;
    *crossing = (struct crossing){.hub_id = hub_id, .kind = (uint8_t)kind, .token_bytes = token_bytes};
    memcpy(crossing->token, token, token_bytes);
    if (!hash_table_add(&crossings->out, &crossing->bin, hash_table_hash(hub_id, crossings->secret))) {
        give_crossing(crossings, crossing);
        return NULL;
    }
    list_append(&crossings->untaken, &crossing->link);
    return crossing;
}

static struct crossing *look_up(const struct crossings *crossings, uint64_t hub_id) {
    struct hash_node *bin = hash_table_find(&crossings->out, hash_table_hash(hub_id, crossings->secret));
    while (bin && hash_table_entry(bin, struct crossing, bin)->hub_id != hub_id)
        bin = hash_table_next(bin);
    return bin ? hash_table_entry(bin, struct crossing, bin) : NULL;
}

struct crossing *crossings_find(struct crossings *crossings, uint64_t hub_id) {
    if (!crossings->found || crossings->found->hub_id != hub_id)
        crossings->found = look_up(crossings, hub_id);
    return crossings->found;
}

void crossings_foresee(const struct crossings *crossings, const uint64_t *hub_ids, uint32_t count) {
    for (uint32_t at = 0; at < count; at++)
        hash_table_foresee(&crossings->out, hash_table_hash(hub_ids[at], crossings->secret));
    for (uint32_t at = 0; at < count; at++)
        hash_table_foresee_first(&crossings->out, hash_table_hash(hub_ids[at], crossings->secret));
    for (uint32_t at = 0; at < count; at++)
        hash_table_foresee_second(&crossings->out, hash_table_hash(hub_ids[at], crossings->secret));
}

struct crossing *crossings_find_sent(struct crossings *crossings, uint64_t hub_id) {
    struct crossing *crossing = crossings_find(crossings, hub_id);
    assert(!crossing || !crossing->waits || !crossing->taker);
    return crossing && !crossing->waits ? crossing : NULL;
}

// They lie in the order in which they went, those that are put together at a time among each other. What the server says of them it says
// at once, so they are near the end, however many wait before them.
void crossings_take_bundle(struct crossings *crossings, uint64_t serial, struct list *out) {
    struct list *untaken = &crossings->untaken;
    assert(serial > 0 && list_empty(out));
    for (struct list *node = untaken->prev, *before; node != untaken; node = before) {
        struct crossing *crossing = list_entry(node, struct crossing, link);
        before = node->prev;
        if (crossing->bundle + BUNDLES_MAX <= serial)
            return;
        if (!crossing->is_bundled || crossing->bundle != serial)
            continue;
        list_remove(node);
        list_append(out->next, node); // at its begin
    }
}

struct crossing_rest *crossings_rest(struct crossings *crossings, struct crossing *crossing) {
    assert(crossings_find(crossings, crossing->hub_id) == crossing);
    if (!crossing->rest)
        crossing->rest = quota_take_zeroed(crossings->kept, 1, sizeof *crossing->rest);
    return crossing->rest;
}

static void give_rest(struct crossings *crossings, struct crossing *crossing) {
    assert(crossing->rest);
    quota_give(crossings->kept, crossing->rest->words);
    quota_give(crossings->kept, crossing->rest->refusal);
    quota_give(crossings->kept, crossing->rest);
    crossing->rest = NULL;
}

void crossings_take_out(struct crossings *crossings, struct crossing *crossing) {
    assert(crossings_find(crossings, crossing->hub_id) == crossing);
    crossings->found = NULL;
    hash_table_remove(&crossings->out, &crossing->bin);
    list_remove(&crossing->link);
    if (__builtin_expect(crossing->rest != NULL, false))
        give_rest(crossings, crossing);
}

void crossings_remove(struct crossings *crossings, struct crossing *crossing) {
    crossings_take_out(crossings, crossing);
    give_crossing(crossings, crossing);
}

void crossings_go_again(struct crossings *crossings, struct crossing *crossing) {
    assert(crossing_refusal(crossing) && !crossing->taker);
    memset(crossing->rest->denied, 0, sizeof crossing->rest->denied);
    crossing->unsure = false;
    crossing->waits = true;
    list_remove(&crossing->link);
    list_append(&crossings->again, &crossing->link);
}

void crossings_gone_again(struct crossings *crossings, struct crossing *crossing, uint64_t now_ms) {
    assert(crossing->waits && now_ms >= crossing->sent_ms);
    crossing->waits = false;
    crossing->sent_ms = now_ms;
    list_remove(&crossing->link);
    list_append(&crossings->untaken, &crossing->link);
}

void crossings_take(struct crossing *crossing, struct neighbour *taker) {
    assert(!crossing->taker && taker);
    crossing->taker = taker;
    list_remove(&crossing->link);
    list_append(&taker->owes, &crossing->link);
}

// All of it, and keyed: whoever asks chooses where it is answered, and the number there, of which hubs give each once.
static uint64_t hash_of(const struct crossings *crossings, const struct passage *passage) {
    assert(passage->reply_bytes || (passage->hub && passage->number));
    if (passage->reply_bytes)
        return siphash_table(&crossings->key, passage->reply, passage->reply_bytes);
    return hash_table_hash(hash_table_hash(passage->number, passage->hub->secret), crossings->secret);
}

// Where the reply is said it alone tells them apart: no hub's own is written so (visiting.c).
static bool is_there(const struct visitor *visitor, const struct passage *passage) {
    assert(!passage->reply_bytes || passage->reply);
    if (visitor->reply_bytes != passage->reply_bytes)
        return false;
    return passage->reply_bytes ? memcmp(visitor->reply, passage->reply, passage->reply_bytes) == 0
                                : visitor->hub == passage->hub && visitor->number == passage->number;
}

static struct visitor *look_for(const struct crossings *crossings, const struct passage *passage,
                                uint64_t hash) {
    struct hash_node *bin = hash_table_find(&crossings->in, hash);
    assert(passage->reply_bytes <= SUBJECT_BYTES_MAX);
    while (bin && !is_there(hash_table_entry(bin, struct visitor, bin), passage))
        bin = hash_table_next(bin);
    return bin ? hash_table_entry(bin, struct visitor, bin) : NULL;
}

struct visitor *crossings_visitor(const struct crossings *crossings, const struct neighbour *hub,
                                  uint64_t number) {
    struct passage passage = {.hub = (struct neighbour *)hub, .number = number};
    assert(hub && number);
    return look_for(crossings, &passage, hash_of(crossings, &passage));
}

static struct visitor *take_visitor(struct crossings *crossings, uint32_t reply_bytes) {
    struct visitor *spare = reply_bytes ? NULL : freelist_take(&crossings->in_spares);
    return spare ? spare : quota_take(crossings->kept, sizeof *spare + reply_bytes);
}

static void give_visitor(struct crossings *crossings, struct visitor *visitor) {
    assert(!visitor->exchange || visitor->exchange->visitor != visitor);
    if (visitor->reply_bytes)
        quota_give(crossings->kept, visitor);
    else
        freelist_give(&crossings->in_spares, crossings->kept, visitor);
}

struct visitor *crossings_enter(struct crossings *crossings, struct exchange *exchange,
                                const struct passage *passage, bool *is_known) {
    uint64_t hash = hash_of(crossings, passage);
    assert(exchange && !exchange->visitor && (passage->hub != NULL) == (passage->number != 0));
    *is_known = look_for(crossings, passage, hash);
    struct visitor *visitor = *is_known ? NULL : take_visitor(crossings, passage->reply_bytes);
    if (!visitor)
        return NULL;
    *visitor = (struct visitor){.exchange = exchange,
                                .hub = passage->hub,
                                .number = passage->number,
                                .present = passage->present,
                                .reply_bytes = passage->reply_bytes};
    if (passage->reply_bytes)
        memcpy(visitor->reply, passage->reply, passage->reply_bytes);
    if (!hash_table_add(&crossings->in, &visitor->bin, hash)) {
        give_visitor(crossings, visitor);
        return NULL;
    }
    if (visitor->present)
        visitor->present->visitors++;
    list_append(visitor->hub ? &visitor->hub->asked : &crossings->strays, &visitor->link);
    exchange->visitor = visitor;
    return visitor;
}

void crossings_leave(struct crossings *crossings, struct visitor *visitor) {
    assert(visitor->exchange->visitor == visitor);
    visitor->exchange->visitor = NULL;
    hash_table_remove(&crossings->in, &visitor->bin);
    list_remove(&visitor->link);
    if (visitor->present)
        presence_left(visitor->present, crossings->kept);
    give_visitor(crossings, visitor);
}
