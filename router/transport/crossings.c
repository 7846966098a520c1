#include "router/transport/crossings.h"

#include <assert.h>
#include <string.h>

#include "router/send/exchange.h"

void crossings_init(struct crossings *crossings, const struct siphash_key *key, struct kept *kept) {
    *crossings = (struct crossings){.kept = kept};
    names_init(&crossings->by_hub_id, key, kept);
    names_init(&crossings->by_reply, key, kept);
    list_init(&crossings->out);
    list_init(&crossings->in);
}

void crossings_forget(struct crossings *crossings) {
    while (!list_empty(&crossings->out))
        crossings_remove(crossings, list_entry(crossings->out.next, struct crossing, link));
    while (!list_empty(&crossings->in))
        crossings_leave(crossings, list_entry(crossings->in.next, struct visitor, link));
    assert(crossings->by_hub_id.count == 0 && crossings->by_reply.count == 0);
}

void crossings_deinit(struct crossings *crossings) {
    crossings_forget(crossings);
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
    list_append(&crossings->out, &crossing->link);
    return crossing;
}

struct crossing *crossings_find(const struct crossings *crossings, uint64_t hub_id) {
    return names_get(&crossings->by_hub_id, (const char *)&hub_id, sizeof hub_id);
}

void crossings_remove(struct crossings *crossings, struct crossing *crossing) {
    assert(crossings_find(crossings, crossing->hub_id) == crossing);
    names_remove(&crossings->by_hub_id, (const char *)&crossing->hub_id, sizeof crossing->hub_id);
    list_remove(&crossing->link);
    kept_give(crossings->kept, crossing);
}

void crossings_expire(struct crossings *crossings, uint64_t now_ms) {
    for (struct list *node = crossings->out.next, *next; node != &crossings->out; node = next) {
        struct crossing *crossing = list_entry(node, struct crossing, link);
        next = node->next;
        if (crossing->until_ms < now_ms)
            crossings_remove(crossings, crossing);
    }
}

struct visitor *crossings_enter(struct crossings *crossings, struct exchange *exchange, const void *reply,
                                uint32_t reply_bytes) {
    if (crossings_visitor(crossings, reply, reply_bytes))
        return NULL;
    struct visitor *visitor = kept_take(crossings->kept, sizeof *visitor + reply_bytes);
    assert(exchange && !exchange->visitor && reply_bytes > 0);
    if (!visitor)
        return NULL;
    *visitor = (struct visitor){.exchange = exchange, .reply_bytes = reply_bytes};
    memcpy(visitor->reply, reply, reply_bytes);
    if (!names_add(&crossings->by_reply, visitor->reply, reply_bytes, visitor)) {
        kept_give(crossings->kept, visitor);
        return NULL;
    }
    list_append(&crossings->in, &visitor->link);
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
