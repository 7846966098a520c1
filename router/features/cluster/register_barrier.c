#include "router/features/cluster/register_barrier.h"

#include <assert.h>

#include "router/features/cluster/nats_publish.h"
#include "router/registry/registry.h"

static struct order *oldest(const struct shard *shard) {
    const struct list *orders = &shard->confirming;
    return list_empty(orders) ? NULL : list_entry(orders->next, struct order, confirming);
}

static bool can_answer(const struct link *link) {
    return link->state >= LINK_JOINING && link->peer->state == PEER_OPEN;
}

void register_barrier_follow(struct link *link) {
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
        nats_write_ping(link);
}

void register_barrier_again(struct link *link) {
    const struct list *orders = &link->shard->confirming;
    for (struct list *node = orders->next; node != orders; node = node->next)
        list_entry(node, struct order, confirming)->confirmed_by = 0;
}

void register_barrier_answered(struct link *link) {
    assert(link->pongs > 0);
    for (struct order *order; (order = oldest(link->shard));) {
        if (!order->confirmed_by || order->confirmed_by > link->pongs)
            return;
        registry_confirmed(link->shard, order);
    }
}

// Those for whom other hubs were asked have waited since then (name_claim.c), so that the oldest isn't always the first.
void register_barrier_expire(struct link *link) {
    struct shard *shard = link->shard;
    struct list *orders = &shard->confirming;
    assert(link->peer);
    for (struct list *node = orders->next, *next; node != orders; node = next) {
        struct order *order = list_entry(node, struct order, confirming);
        next = node->next;
        if (shard_now_ms(shard) - order->confirming_ms >= LINK_CONFIRM_MS)
            registry_confirmed(shard, order);
    }
}

uint64_t register_barrier_due_ms(const struct link *link) {
    const struct list *orders = &link->shard->confirming;
    uint64_t due_ms = UINT64_MAX;
    for (const struct list *node = orders->next; node != orders; node = node->next) {
        const struct order *order = list_entry(node, struct order, confirming);
        if (order->confirming_ms + LINK_CONFIRM_MS < due_ms)
            due_ms = order->confirming_ms + LINK_CONFIRM_MS;
    }
    return due_ms;
}
