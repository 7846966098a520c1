#include "router/registry/admission.h"

#include <assert.h>

#include "router/engine/shard/post.h"
#include "router/registry/orders.h"

static void admission_refuse(struct shard *shard, struct order *order, enum error error) {
    assert(order->kind == ORDER_REGISTER && !order->in_flight);
    order->error = error;
    order->stage = ORDER_SETTLED;
    post_defer(shard, &order->mail);
}

static void admit(struct shard *shard, struct peer *peer, struct order *order) {
    assert(order->mail.connection == peer->name && !order->in_flight);
    order->in_flight = true;
    peer->admission.orders++;
    peer->admission.patterns += order->patterns;
    order_send(shard, order);
}

// Whether there is room for what it lists, whatever becomes of the orders under way.
static bool admission_has_room(struct shard *shard, const struct peer *peer, const struct order *order) {
    const struct agent *old = agents_find(&shard->agents, order->agent_id, order->agent_id_bytes);
    if (order->kind != ORDER_REGISTER)
        return true;
    if (old && old->home->connection != peer->name)
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

// A peer that can't get events any more subscribes to nothing.
void admission_submit(struct shard *shard, struct order *order) {
    struct peer *peer = peer_find(shard, order->mail.connection);
    assert(order->stage == ORDER_SUBMITTED && connection_shard(order->mail.connection) == shard->index);
    assert(!peer || !peer->admission.waiting || peer->admission.orders); // or nobody would let them go on
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

// Nothing is under way: the first one goes out or is refused, and those behind it as far as they have room.
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
