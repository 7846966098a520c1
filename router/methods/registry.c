#include "router/methods/registry.h"

#include <assert.h>
#include <string.h>

#include "router/methods/admit.h"
#include "router/methods/subscribe.h"
#include "router/request/answer.h"
#include "router/request/refuse.h"
#include "router/send/reply.h"
#include "router/shard/post.h"

// --- Applying

static struct agent *registry_find(struct shard *shard, const struct order *order) {
    return agents_find(&shard->agents, order->agent_id, order->agent_id_bytes);
}

static void notify_replaced(struct shard *shard, struct peer *peer, const struct order *order) {
    assert(peer->name != order->mail.connection);
    struct text body;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/replaced\",\"params\":{\"agentId\":");
    text_string(&body, order->agent_id, order->agent_id_bytes);
    text_put(&body, "}}");
    reply_notify(shard, peer, &body);
}

// The old holder of an agentId that it lost to another connection is told, by its own shard.
static void tell_replaced(struct shard *shard, uint64_t holder, const struct order *order) {
    bool here = holder != order->mail.connection && connection_shard(holder) == shard->index;
    struct peer *peer = here ? peer_find(shard, holder) : NULL;
    if (peer)
        notify_replaced(shard, peer, order);
}

// What a connection of this shard subscribes with, as long as it can take events; else NULL.
static struct subscriber *subscriber_of_order(const struct shard *shard, const struct order *order) {
    bool here = connection_shard(order->mail.connection) == shard->index;
    struct peer *peer = here ? peer_find(shard, order->mail.connection) : NULL;
    return peer && peer->state == PEER_OPEN ? &peer->subscriber : NULL;
}

// It becomes its opposite, for lack of memory.
static void turn_back(struct shard *shard, struct order *order, enum error error) {
    assert(order->kind == ORDER_REGISTER && error != ERROR_NONE);
    order->error = error;
    order->kind = ORDER_UNREGISTER;
    kept_accept(&shard->kept, order->set_aside);
    order->set_aside = 0;
}

// What shard 0 has set aside for this one.
static void accept_share(struct shard *shard, struct order *order) {
    uint64_t share = shard->index ? order->set_aside / (shard->hub->settings.shard_count - shard->index) : 0;
    kept_accept(&shard->kept, share);
    order->set_aside -= share;
    assert(shard->index + 1 < shard->hub->settings.shard_count || order->set_aside == 0);
}

// Shard 0 judges for all.
static void apply_register(struct shard *shard, struct order *order) {
    const struct agent *old = registry_find(shard, order);
    uint64_t holder = old ? old->home->connection : order->mail.connection;
    uint64_t refused = shard->kept.refused;
    assert(order->capabilities && order->serial && !order->error);
    accept_share(shard, order);
    struct agent_offer offer = {
        .connection = order->mail.connection,
        .subscriber = subscriber_of_order(shard, order),
        .id = order->agent_id,
        .id_bytes = order->agent_id_bytes,
        .capabilities = order->capabilities,
        .governance = order->governance,
        .connected_since_ms = order->connected_since_ms,
        .serial = order->serial,
        .judged_for = shard->index == 0 ? shard->hub->settings.shard_count : 0,
        .set_aside = &order->set_aside,
    };
    bool put = agents_put(&shard->agents, &offer);
    admit_applied(shard, order);
    if (!put) {
        bool bounded = shard->kept.refused != refused;
        order->limit = bounded ? kept_bytes_max(&shard->kept) : 0;
        turn_back(shard, order, bounded ? ERROR_OVERLOADED : ERROR_INTERNAL);
        return;
    }
    assert(!offer.subscriber || offer.subscriber->count <= SUBSCRIPTIONS_PER_CONNECTION_MAX);
    tell_replaced(shard, holder, order);
}

// One that was turned back takes the id from whoever has it here: where the order hadn't come yet, that may
// be the one that lost it elsewhere.
static void apply_unregister(struct shard *shard, struct order *order) {
    struct agent *agent = registry_find(shard, order);
    uint64_t holder = agent ? agent->home->connection : 0;
    if (!agent || (holder != order->mail.connection && !order->error))
        return;
    agents_remove(&shard->agents, agent);
    tell_replaced(shard, holder, order);
}

static void apply_resign(struct shard *shard, struct order *order) {
    struct home *home = agents_home(&shard->agents, order->mail.connection);
    while (home && !list_empty(&home->agents))
        agents_remove(&shard->agents, list_entry(home->agents.next, struct agent, by_home));
}

static void apply_leave(struct shard *shard, struct order *order) {
    struct home *home = agents_home(&shard->agents, order->mail.connection);
    if (!home)
        return;
    answer_target_left(shard, home);
    agents_remove_home(&shard->agents, home);
    assert(!agents_home(&shard->agents, order->mail.connection));
}

static void apply(struct shard *shard, struct order *order) {
    assert(order->stage == ORDER_APPLIED);
    switch (order->kind) {
    case ORDER_REGISTER:
        apply_register(shard, order);
        break;
    case ORDER_UNREGISTER:
        apply_unregister(shard, order);
        break;
    case ORDER_RESIGN:
        apply_resign(shard, order);
        break;
    case ORDER_LEAVE:
        apply_leave(shard, order);
        break;
    }
    subscribe_note(shard);
}

// --- Deciding

static size_t agents_at(struct shard *shard, uint64_t connection) {
    struct home *home = agents_home(&shard->agents, connection);
    size_t count = 0;
    for (struct list *node = home ? home->agents.next : NULL; home && node != &home->agents;
         node = node->next)
        count++;
    return count;
}

static enum error decide(struct shard *shard, struct order *order) {
    const struct agent *agent = registry_find(shard, order);
    bool own = agent && agent->home->connection == order->mail.connection;
    assert(shard->index == 0);
    switch (order->kind) {
    case ORDER_REGISTER:
        if (agent && !own && !shard->settings->takeover)
            return ERROR_AGENT_ID_TAKEN;
        if (!own && agents_at(shard, order->mail.connection) >= AGENTS_PER_CONNECTION_MAX) {
            order->limit = AGENTS_PER_CONNECTION_MAX;
            return ERROR_OVERLOADED;
        }
        return ERROR_NONE;
    case ORDER_UNREGISTER:
        return own ? ERROR_NONE : ERROR_AGENT_NOT_FOUND;
    default:
        return ERROR_NONE;
    }
}

// --- Going round

static void pass_on(struct shard *shard, struct order *order, uint32_t to) {
    assert(to < shard->hub->settings.shard_count);
    if (to == shard->index)
        registry_step(shard, order);
    else
        mailbox_post(hub_mailbox(shard->hub, shard->index, to), &order->mail);
}

static void registry_settle(struct shard *shard, struct order *order) {
    assert(order->stage != ORDER_SETTLED);
    order->stage = ORDER_SETTLED;
    pass_on(shard, order, connection_shard(order->mail.connection));
}

// Whether shard 0 need not undo what was turned back: somebody, be it the same connection, has registered the
// id since, which all shards apply after it.
static bool is_undone(struct shard *shard, const struct order *order) {
    const struct agent *agent = registry_find(shard, order);
    assert(shard->index == 0 && order->error && order->serial);
    return agent && agent->serial != order->serial;
}

static void apply_here(struct shard *shard, struct order *order) {
    enum error before = order->error;
    if (before && shard->index == 0 && is_undone(shard, order)) {
        registry_settle(shard, order);
        return;
    }
    apply(shard, order);
    if (order->error != before && shard->index == 0) { // nothing has come of it
        registry_settle(shard, order);
    } else if (order->error != before) { // undo it everywhere
        order->stage = ORDER_APPLIED;
        pass_on(shard, order, 0);
    } else if (shard->index + 1 < shard->hub->settings.shard_count) {
        pass_on(shard, order, shard->index + 1);
    } else {
        registry_settle(shard, order);
    }
}

// A peer that has half-closed stays until the orders that it asked for have been answered.
static void count_for_peer(struct shard *shard, const struct order *order, int change) {
    struct peer *peer = order->request_id ? peer_find(shard, order->mail.connection) : NULL;
    if (!peer)
        return;
    assert(change > 0 || peer->awaited > 0);
    peer->awaited += (uint32_t)change;
    if (change < 0)
        peer_settle(shard, peer);
}

void registry_submit(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    order->stage = ORDER_ASKED;
    count_for_peer(shard, order, 1);
    shard->orders_out++;
    admit(shard, order);
}

void registry_step(struct shard *shard, struct order *order) {
    switch (order->stage) {
    case ORDER_ASKED:
        order->error = decide(shard, order);
        if (order->error) {
            registry_settle(shard, order);
            break;
        }
        order->serial = ++shard->agents.serials;
        order->stage = ORDER_APPLIED;
        apply_here(shard, order);
        break;
    case ORDER_APPLIED:
        apply_here(shard, order);
        break;
    case ORDER_SETTLED:
        assert(shard->orders_out > 0 && connection_shard(order->mail.connection) == shard->index);
        shard->orders_out--;
        if (order->error && !order->request_id)
            refuse_untold(shard, order->mail.connection, order->error, 0);
        order_answer(shard, order);
        admit_settled(shard, order);
        count_for_peer(shard, order, -1);
        order_destroy(shard, order);
        break;
    }
}

void registry_leave(struct shard *shard, struct peer *peer) {
    struct order *farewell = peer->farewell;
    assert(peer->state != PEER_OPEN && (!farewell || farewell->kind == ORDER_LEAVE));
    peer->farewell = NULL;
    admit_leave(shard, peer);
    if (farewell)
        registry_submit(shard, farewell);
}
