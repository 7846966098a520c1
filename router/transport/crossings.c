#include "router/transport/crossings.h"

#include <assert.h>
#include <string.h>

#include "router/send/exchange.h"

void crossings_init(struct crossings *crossings, const struct siphash_key *key, struct kept *kept) {
    *crossings = (struct crossings){.kept = kept};
    names_init(&crossings->by_hub_id, key, kept);
    names_init(&crossings->by_reply, key, kept);
    neighbours_init(&crossings->neighbours, key, kept);
    list_init(&crossings->untaken);
    list_init(&crossings->strays);
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
    assert(crossings->by_hub_id.count == 0 && crossings->by_reply.count == 0);
}

void crossings_deinit(struct crossings *crossings) {
    crossings_forget(crossings);
    neighbours_deinit(&crossings->neighbours);
    names_deinit(&crossings->by_hub_id);
    names_deinit(&crossings->by_reply);
}

struct crossing *crossings_add(struct crossings *crossings, uint64_t hub_id, enum subject_kind kind,
                               const void *token, uint32_t token_bytes) {
    struct crossing *crossing = kept_take(crossings->kept, sizeof *crossing + token_bytes);
    assert(hub_id && !crossings_find(crossings, hub_id));
    if (!crossing)
        return NULL;
    *crossing = (struct crossing){.hub_id = hub_id, .kind = kind, .token_bytes = token_bytes};
    memcpy(crossing->token, token, token_bytes);
    if (!names_add(&crossings->by_hub_id, (const char *)&crossing->hub_id, sizeof crossing->hub_id,
                   crossing)) {
        kept_give(crossings->kept, crossing);
        return NULL;
    }
    list_append(&crossings->untaken, &crossing->link);
    return crossing;
}

struct crossing *crossings_find(const struct crossings *crossings, uint64_t hub_id) {
    return names_get(&crossings->by_hub_id, (const char *)&hub_id, sizeof hub_id);
}

void crossings_take_out(struct crossings *crossings, struct crossing *crossing) {
    assert(crossings_find(crossings, crossing->hub_id) == crossing);
    names_remove(&crossings->by_hub_id, (const char *)&crossing->hub_id, sizeof crossing->hub_id);
    list_remove(&crossing->link);
    kept_give(crossings->kept, crossing->words);
    crossing->words = NULL;
}

void crossings_remove(struct crossings *crossings, struct crossing *crossing) {
    crossings_take_out(crossings, crossing);
    kept_give(crossings->kept, crossing);
}

void crossings_take(struct crossing *crossing, struct neighbour *taker) {
    assert(!crossing->taker && taker);
    crossing->taker = taker;
    list_remove(&crossing->link);
    list_append(&taker->owes, &crossing->link);
}

struct visitor *crossings_enter(struct crossings *crossings, struct exchange *exchange,
                                const struct passage *passage, struct neighbour *hub) {
    uint32_t reply_bytes = passage->reply_bytes;
    struct visitor *visitor =
        kept_take(crossings->kept, sizeof *visitor + reply_bytes + passage->subject_bytes);
    assert(exchange && !exchange->visitor && !crossings_visitor(crossings, passage->reply, reply_bytes));
    if (!visitor)
        return NULL;
    *visitor = (struct visitor){.exchange = exchange,
                                .hub = hub,
                                .began_ms = exchange->opened_ms,
                                .reply_bytes = reply_bytes,
                                .subject_bytes = passage->subject_bytes};
    memcpy(visitor->reply, passage->reply, reply_bytes);
    memcpy(visitor->reply + reply_bytes, passage->subject, passage->subject_bytes);
    if (!names_add(&crossings->by_reply, visitor->reply, reply_bytes, visitor)) {
        kept_give(crossings->kept, visitor);
        return NULL;
    }
    list_append(hub ? &hub->asked : &crossings->strays, &visitor->link);
    exchange->visitor = visitor;
    return visitor;
}

struct visitor *crossings_visitor(const struct crossings *crossings, const void *reply,
                                  uint32_t reply_bytes) {
    return names_get(&crossings->by_reply, reply, reply_bytes);
}

void crossings_leave(struct crossings *crossings, struct visitor *visitor) {
    assert(visitor->exchange->visitor == visitor);
    visitor->exchange->visitor = NULL;
    names_remove(&crossings->by_reply, visitor->reply, visitor->reply_bytes);
    list_remove(&visitor->link);
    kept_give(crossings->kept, visitor);
}
