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
    memory_give(order->exempt_ids);
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
    assert(kind != ORDER_LEAVE); // no message asks for that
    struct order *order = order_create(shard, kind, message->peer->connection_id);
    if (order && save_request_id(shard, order, message))
        return order;
    if (order)
        order_destroy(shard, order);
    refuse_without_quota(shard, message, NULL);
    return NULL;
}

void order_send(struct shard *shard, struct order *order) {
    assert(order->stage == ORDER_SUBMITTED && connection_shard(order->mail.connection) == shard->index);
    // Never at once: the caller may be working on what the order removes.
    if (shard->index == 0)
        post_defer(shard, &order->mail);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, 0), &order->mail);
}

// --- Answering

static void answer_result(struct shard *shard, struct peer *peer, const struct order *order,
                          struct reply_to to) {
    struct text result;
    assert(order->kind != ORDER_LEAVE && peer->connection_id == order->mail.connection);
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

// --- Admission

static void admission_refuse(struct shard *shard, struct order *order, enum error error) {
    assert(order->kind == ORDER_REGISTER && !order->in_flight);
    order->error = error;
    order->stage = ORDER_SETTLED;
    post_defer(shard, &order->mail);
}

static void admit(struct shard *shard, struct peer *peer, struct order *order) {
    assert(order->mail.connection == peer->connection_id && !order->in_flight);
    order->in_flight = true;
    peer->admission.orders++;
    peer->admission.patterns += order->patterns;
    order_send(shard, order);
}

// Returns whether the peer has room for the order's patterns, whatever the end of the orders under way.
static bool admission_has_room(struct shard *shard, const struct peer *peer, const struct order *order) {
    const struct agent *old = agents_find(&shard->agents, order->agent_id, order->agent_id_bytes);
    if (order->kind != ORDER_REGISTER)
        return true;
    if (old && old->registrant->connection != peer->connection_id)
        old = NULL;
    size_t count = topics_predict_count(&shard->agents.topics, &peer->subscriber, old,
                                        order->capabilities->text, topics_list(order->capabilities));
    return count + peer->admission.patterns <= SUBSCRIPTIONS_PER_CONNECTION_MAX;
}

static void enqueue(struct admission *admission, struct order *order) {
    assert(admission->orders > 0);
    order->mail.next = NULL;
    if (admission->waiting)
        admission->last->next = &order->mail;
    else
        admission->waiting = &order->mail;
    admission->last = &order->mail;
}

static struct order *dequeue(struct admission *admission) {
    assert(admission->waiting);
    struct mail *mail = admission->waiting;
    admission->waiting = mail->next;
    return list_entry(mail, struct order, mail);
}

// A peer that isn't open any more gets no subscriptions, so its orders need no room.
void admission_submit(struct shard *shard, struct order *order) {
    struct peer *peer = peer_find(shard, order->mail.connection);
    assert(order->stage == ORDER_SUBMITTED && connection_shard(order->mail.connection) == shard->index);
    assert(!peer || !peer->admission.waiting || peer->admission.orders); // orders wait for others alone
    if (order->kind == ORDER_REGISTER)
        order->patterns = (uint32_t)topics_listed(order->capabilities);
    if (!peer)
        order_send(shard, order);
    else if (peer->state != PEER_OPEN || (!peer->admission.waiting && admission_has_room(shard, peer, order)))
        admit(shard, peer, order);
    else if (peer->admission.orders)
        enqueue(&peer->admission, order);
    else
        admission_refuse(shard, order, ERROR_INVALID_PARAMS);
}

void admission_applied(struct shard *shard, struct order *order) {
    bool here = connection_shard(order->mail.connection) == shard->index;
    struct peer *peer = here ? peer_find(shard, order->mail.connection) : NULL;
    if (!peer)
        return;
    assert(peer->admission.patterns >= order->patterns);
    peer->admission.patterns -= order->patterns;
    order->patterns = 0;
}

// Sends or refuses the first order that waits, when no order is under way, and then sends further orders as far as
// these have room.
static void admit_waiting(struct shard *shard, struct peer *peer) {
    struct admission *admission = &peer->admission;
    assert(admission->orders == 0);
    while (admission->waiting) {
        struct order *next = list_entry(admission->waiting, struct order, mail);
        bool fits = admission_has_room(shard, peer, next);
        if (!fits && admission->orders)
            break;
        dequeue(admission);
        if (fits)
            admit(shard, peer, next);
        else
            admission_refuse(shard, next, ERROR_INVALID_PARAMS);
    }
}

void admission_settled(struct shard *shard, const struct order *order) {
    struct peer *peer = order->in_flight ? peer_find(shard, order->mail.connection) : NULL;
    if (!peer)
        return;
    struct admission *admission = &peer->admission;
    assert(admission->orders > 0 && admission->patterns >= order->patterns);
    admission->orders--;
    admission->patterns -= order->patterns;
    if (!admission->orders)
        admit_waiting(shard, peer);
}

void admission_leave(struct shard *shard, struct peer *peer) {
    assert(peer->state != PEER_OPEN);
    while (peer->admission.waiting) {
        struct order *order = dequeue(&peer->admission);
        if (order->kind == ORDER_REGISTER)
            admission_refuse(shard, order, ERROR_OVERLOADED);
        else
            admit(shard, peer, order);
    }
}
