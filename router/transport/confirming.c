#include "router/transport/confirming.h"

#include <assert.h>

#include "router/methods/registry.h"
#include "router/transport/nats_say.h"

static struct order *oldest(const struct shard *shard) {
    const struct list *orders = &shard->confirming;
    return list_empty(orders) ? NULL : list_entry(orders->next, struct order, confirming);
}

static bool can_answer(const struct link *link) {
    return link->state >= LINK_JOINING && link->peer->state == PEER_OPEN;
}

void confirming_follow(struct link *link) {
    struct shard *shard = link->shard;
    assert(shard->index == 0);
    if (!can_answer(link)) {
        for (struct order *order; (order = oldest(shard));)
            registry_confirmed(shard, order);
        return;
    }
    bool any = false;
    for (struct list *node = shard->confirming.prev; node != &shard->confirming; node = node->prev) {
        struct order *order = list_entry(node, struct order, confirming);
        if (order->confirmed_by)
            break;
        order->confirmed_by = link->pings + 1;
        any = true;
    }
    if (any)
        nats_say_ping(link);
}

void confirming_answered(struct link *link) {
    assert(link->pongs > 0);
    for (struct order *order; (order = oldest(link->shard));) {
        if (!order->confirmed_by || order->confirmed_by > link->pongs)
            return;
        registry_confirmed(link->shard, order);
    }
}

void confirming_expire(struct link *link) {
    struct shard *shard = link->shard;
    assert(link->peer);
    for (struct order *order; (order = oldest(shard));) {
        if (shard_now_ms(shard) - order->confirming_ms < LINK_CONFIRM_MS)
            return;
        registry_confirmed(shard, order);
    }
}

uint64_t confirming_due_ms(const struct link *link) {
    const struct order *order = oldest(link->shard);
    return order ? order->confirming_ms + LINK_CONFIRM_MS : UINT64_MAX;
}
