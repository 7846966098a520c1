#include "router/transport/nats_join.h"

#include <assert.h>
#include <string.h>

#include "core/cluster/info.h"
#include "router/methods/registry.h"
#include "router/transport/nats_say.h"

// In the registry, so that requests can be asked of it, and end with it.
static bool register_link(struct shard *shard, struct peer *peer) {
    assert(!peer->farewell);
    peer->farewell = order_create(shard, ORDER_LEAVE, peer->name);
    struct order *order = peer->farewell ? order_create(shard, ORDER_REGISTER, peer->name) : NULL;
    if (!order)
        return false;
    memcpy(order->agent_id, HUB_LINK_ID, sizeof HUB_LINK_ID);
    order->agent_id_bytes = sizeof HUB_LINK_ID - 1;
    order->governance = GOVERNANCE_COUNT - 1;
    order->absent = true;
    order->capabilities = capabilities_create(&shard->kept, "{}", 2);
    if (!order->capabilities) {
        order_destroy(shard, order);
        return false;
    }
    registry_submit(shard, order);
    return true;
}

void nats_join_welcome(struct shard *shard, struct link *link) {
    if (link->state != LINK_JOINING)
        return;
    assert(link->peer->state == PEER_OPEN);
    link_welcomed(link);
    nats_say_beat(link);
    if (!register_link(shard, link->peer))
        peer_close(shard, link->peer, COUNT_CLOSED_NO_MEMORY);
}

static void learn_servers(struct link *link, const uint8_t *bytes, struct span urls) {
    struct json_walk walk;
    char url[64];
    if (!urls.bytes)
        return;
    json_walk_begin(&walk, bytes, urls);
    for (struct json_item item; json_next(&walk, &item) == JSON_ITEM;) {
        size_t count =
            item.type == JSON_STRING ? json_string_decode(bytes, item.value, url, sizeof url) : SIZE_MAX;
        if (count != SIZE_MAX)
            link_learn(link, url, count);
    }
}

// A server that wants what the hub can't give is left: without headers there is nothing to be said, and who asks for TLS is shown
// no credential without it.
void nats_join_info(struct shard *shard, struct link *link, const uint8_t *bytes, struct span argument) {
    struct server_info info;
    bool good = info_read(bytes, argument, &info) && info.headers && !info.tls_required;
    if (!good) {
        peer_close(shard, link->peer, COUNTERS_COUNT);
        return;
    }
    learn_servers(link, bytes, info.connect_urls);
    atomic_store_explicit(&shard->hub->link_payload_bytes_max, info.payload_bytes_max, memory_order_relaxed);
    if (link->state != LINK_GREETING)
        return;
    link->state = LINK_JOINING;
    nats_introduce(link);
}
