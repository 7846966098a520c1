#include "router/transport/crossings.h"

#include <assert.h>
#include <string.h>

#include "router/send/exchange.h"

void crossings_init(struct crossings *crossings, const struct siphash_key *key, struct kept *kept) {
    *crossings = (struct crossings){.kept = kept};
    crossings->key = *key;
    crossings->secret = siphash_table(key, "crossings", 9);
    bins_init(&crossings->out, kept);
    bins_init(&crossings->in, kept);
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
    bins_deinit(&crossings->out);
    bins_deinit(&crossings->in);
}

struct crossing *crossings_add(struct crossings *crossings, uint64_t hub_id, enum subject_kind kind,
                               const void *token, uint32_t token_bytes) {
    struct crossing *crossing = kept_take(crossings->kept, sizeof *crossing + token_bytes);
    assert(hub_id && !crossings_find(crossings, hub_id));
    if (!crossing)
        return NULL;
    *crossing = (struct crossing){.hub_id = hub_id, .kind = kind, .token_bytes = token_bytes};
    memcpy(crossing->token, token, token_bytes);
    if (!bins_add(&crossings->out, &crossing->bin, bins_hash(hub_id, crossings->secret))) {
        kept_give(crossings->kept, crossing);
        return NULL;
    }
    list_append(&crossings->untaken, &crossing->link);
    return crossing;
}

struct crossing *crossings_find(const struct crossings *crossings, uint64_t hub_id) {
    struct bin *bin = bins_find(&crossings->out, bins_hash(hub_id, crossings->secret));
    while (bin && bin_entry(bin, struct crossing, bin)->hub_id != hub_id)
        bin = bins_next(bin);
    return bin ? bin_entry(bin, struct crossing, bin) : NULL;
}

void crossings_take_out(struct crossings *crossings, struct crossing *crossing) {
    assert(crossings_find(crossings, crossing->hub_id) == crossing);
    bins_remove(&crossings->out, &crossing->bin);
    list_remove(&crossing->link);
    kept_give(crossings->kept, crossing->words);
    kept_give(crossings->kept, crossing->refusal);
    crossing->words = NULL;
    crossing->refusal = NULL;
}

void crossings_remove(struct crossings *crossings, struct crossing *crossing) {
    crossings_take_out(crossings, crossing);
    kept_give(crossings->kept, crossing);
}

void crossings_go_again(struct crossings *crossings, struct crossing *crossing) {
    assert(crossing->refusal && !crossing->taker);
    memset(crossing->denied, 0, sizeof crossing->denied);
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

// All of it, and keyed: whoever asks chooses where it is answered, and the number there.
static uint64_t hash_of(const struct crossings *crossings, const void *reply, uint32_t reply_bytes) {
    assert(reply || !reply_bytes);
    return siphash_table(&crossings->key, reply, reply_bytes);
}

struct visitor *crossings_enter(struct crossings *crossings, struct exchange *exchange,
                                const struct passage *passage, struct neighbour *hub, uint64_t number) {
    uint32_t reply_bytes = passage->reply_bytes;
    struct visitor *visitor =
        kept_take(crossings->kept, sizeof *visitor + reply_bytes + passage->subject_bytes);
    assert(exchange && !exchange->visitor && (hub != NULL) == (number != 0));
    assert(!crossings_visitor(crossings, passage->reply, reply_bytes));
    if (!visitor)
        return NULL;
    *visitor = (struct visitor){.exchange = exchange,
                                .hub = hub,
                                .number = number,
                                .began_ms = exchange->opened_ms,
                                .reply_bytes = reply_bytes,
                                .subject_bytes = passage->subject_bytes};
    memcpy(visitor->reply, passage->reply, reply_bytes);
    memcpy(visitor->reply + reply_bytes, passage->subject, passage->subject_bytes);
    if (!bins_add(&crossings->in, &visitor->bin, hash_of(crossings, visitor->reply, reply_bytes))) {
        kept_give(crossings->kept, visitor);
        return NULL;
    }
    list_append(hub ? &hub->asked : &crossings->strays, &visitor->link);
    exchange->visitor = visitor;
    return visitor;
}

struct visitor *crossings_visitor(const struct crossings *crossings, const void *reply,
                                  uint32_t reply_bytes) {
    struct bin *bin = bins_find(&crossings->in, hash_of(crossings, reply, reply_bytes));
    for (; bin; bin = bins_next(bin)) {
        struct visitor *visitor = bin_entry(bin, struct visitor, bin);
        if (visitor->reply_bytes == reply_bytes && memcmp(visitor->reply, reply, reply_bytes) == 0)
            return visitor;
    }
    return NULL;
}

void crossings_leave(struct crossings *crossings, struct visitor *visitor) {
    assert(visitor->exchange->visitor == visitor);
    visitor->exchange->visitor = NULL;
    bins_remove(&crossings->in, &visitor->bin);
    list_remove(&visitor->link);
    kept_give(crossings->kept, visitor);
}
