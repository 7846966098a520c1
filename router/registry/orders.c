#include "router/registry/orders.h"

#include <assert.h>
#include <string.h>

#include "core/base/memory.h"
#include "router/engine/request/refuse.h"
#include "router/engine/shard/post.h"

// An order that gives back quota isn't refused for want of quota.
struct order *order_create(struct shard *shard, enum order_kind kind, uint64_t connection) {
    assert(connection_shard(connection) == shard->index);
    bool returns_quota = kind == ORDER_UNREGISTER || kind == ORDER_RESIGN || kind == ORDER_YIELD;
    struct order *order = returns_quota ? quota_take_anyway(&shard->quota, sizeof *order)
                                        : quota_take(&shard->quota, sizeof *order);
    if (!order)
        return NULL;
    *order = (struct order){.kind = kind, .mail = {.kind = MAIL_ORDER, .connection = connection}};
    return order;
}

void order_destroy(struct shard *shard, struct order *order) {
    assert(order->reserved_bytes == 0 && connection_shard(order->mail.connection) == shard->index);
    capabilities_drop(&shard->quota, order->capabilities);
    capabilities_drop(&shard->quota, order->answer);
    latency_drop(&shard->quota, order->latency);
    quota_give(&shard->quota, order->request_id);
    memory_give(order->spared);
    quota_give(&shard->quota, order);
}

static bool save_request_id(struct shard *shard, struct order *order, const struct message *message) {
    struct reply_to to = message_reply_to(message);
    assert(!order->request_id);
    if (!message_is_request(message))
        return true;
    order->request_id = quota_take_anyway(&shard->quota, to.id_bytes);
    if (!order->request_id)
        return false;
    memcpy(order->request_id, to.id, to.id_bytes);
    order->request_id_bytes = to.id_bytes;
    order->exchange = to.exchange;
    return true;
}

struct order *order_for_message(struct shard *shard, const struct message *message, enum order_kind kind) {
    assert(kind != ORDER_LEAVE); // nobody asks for it
    struct order *order = order_create(shard, kind, message->peer->name);
    if (order && save_request_id(shard, order, message))
        return order;
    if (order)
        order_destroy(shard, order);
    refuse_without_quota(shard, message, NULL);
    return NULL;
}

void order_send(struct shard *shard, struct order *order) {
    assert(order->stage == ORDER_SUBMITTED && connection_shard(order->mail.connection) == shard->index);
    // Never at once: whoever submits may be in the middle of what the order takes away.
    if (shard->index == 0)
        post_defer(shard, &order->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, 0), &order->mail);
}

// --- Answering

static void answer_result(struct shard *shard, struct peer *peer, const struct order *order,
                          struct reply_to to) {
    struct text result;
    assert(order->kind != ORDER_LEAVE && peer->name == order->mail.connection);
    text_init(&result);
    if (order->kind == ORDER_RESIGN) {
        text_put(&result, "null");
    } else {
        text_put(&result, "{\"agentId\":");
        text_string(&result, order->agent_id, order->agent_id_bytes);
        text_put(&result, ",\"registered\":");
        text_put(&result, order->kind == ORDER_REGISTER ? "true}" : "false}");
    }
    if (result.failed)
        reply_failed(shard, peer, to);
    else
        reply_result(shard, peer, to, result.bytes, result.length);
    text_deinit(&result);
}

void order_answer(struct shard *shard, const struct order *order) {
    assert(order->stage == ORDER_SETTLED);
    if (!order->request_id)
        return;
    struct peer *peer = peer_find(shard, order->mail.connection);
    struct reply_to to = {order->request_id, order->request_id_bytes, order->exchange};
    if (!peer) {
        reply_missed(shard, order->mail.connection, to);
        return;
    }
    if (!order->error) {
        answer_result(shard, peer, order, to);
        return;
    }
    struct text data;
    text_init(&data);
    reply_data_string(&data, "agent", order->agent_id, order->agent_id_bytes);
    if (order->over_share)
        reply_data_text(&data, "fault", refuse_share_fault);
    if (order->limit)
        reply_data_number(&data, "limit", (int64_t)order->limit);
    if (order->error == ERROR_INVALID_PARAMS) {
        reply_data_text(&data, "field", "params.capabilities.events");
        reply_data_number(&data, "limit", SUBSCRIPTIONS_PER_CONNECTION_MAX);
    }
    reply_error(shard, peer, to, order->error, &data);
}
