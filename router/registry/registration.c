#include "router/registry/registration.h"

#include <assert.h>

#include "router/engine/request/refuse.h"
#include "router/registry/agent_params.h"
#include "router/registry/registry.h"
#include "router/rights/authz.h"

static bool prepare_leave(struct shard *shard, struct peer *peer) {
    assert(peer->state == PEER_OPEN &&
           (!peer->leave_order || peer->leave_order->mail.connection == peer->name));
    if (!peer->leave_order)
        peer->leave_order = order_create(shard, ORDER_LEAVE, peer->name);
    return peer->leave_order != NULL;
}

void registration_register(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_agent(shard, message, &offer) ||
        !authz_register(shard, message, offer.agent_id, offer.agent_id_bytes, offer.capabilities,
                        offer.governance))
        return;
    if (message->peer->state != PEER_OPEN) {
        refuse_for(shard, message, ERROR_OVERLOADED, "this connection is ending");
        return;
    }
    if (!prepare_leave(shard, message->peer)) {
        refuse_without_quota(shard, message, NULL);
        return;
    }
    struct order *order = order_for_message(shard, message, ORDER_REGISTER);
    if (!order)
        return;
    if (!agent_params_fill_order(shard, &offer, message, order)) {
        order_destroy(shard, order);
        refuse_without_quota(shard, message, NULL);
        return;
    }
    assert(order->capabilities && order->agent_id_bytes);
    order->owner = identity_user(message->peer);
    order->users_number = order->owner ? shard->settings->users->number : 0;
    order->holder = identity_holder(shard, message->peer);
    order->connected_since_ms = io_wall_ms(shard->io);
    registry_submit(shard, order);
}

void registration_unregister(struct shard *shard, const struct message *message) {
    struct agent_params offer;
    if (!agent_params_read_agent_id(shard, message, &offer))
        return;
    struct order *order = order_for_message(shard, message, ORDER_UNREGISTER);
    if (!order)
        return;
    agent_params_fill_agent_id(&offer, order);
    registry_submit(shard, order);
}
