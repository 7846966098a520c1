#include "router/methods/registry.h"

#include <assert.h>
#include <string.h>

#include "router/methods/admit.h"
#include "router/methods/applying.h"
#include "router/request/answer.h"
#include "router/request/refuse.h"
#include "router/send/reply.h"
#include "router/shard/identity.h"
#include "router/shard/post.h"
#include "router/stream/stream.h"

// --- Telling

static void notify_replaced(struct shard *shard, struct peer *peer, const struct order *order) {
    assert(peer->name != order->mail.connection || order->revoked);
    struct text body;
    text_init(&body);
    text_put(&body, "{\"jsonrpc\":\"2.0\",\"method\":\"hub/replaced\",\"params\":{\"agentId\":");
    text_string(&body, order->agent_id, order->agent_id_bytes);
    text_put(&body, "}}");
    reply_notify(shard, peer, &body);
}

// The old holder of an agentId that it lost to another connection is told, by its own shard.
static void tell_replaced(struct shard *shard, const struct order *order) {
    assert(order->stage == ORDER_TELLING && connection_shard(order->replaced) == shard->index);
    struct peer *peer = peer_find(shard, order->replaced);
    if (peer)
        notify_replaced(shard, peer, order);
}

// The same of one that its user may not have any more.
static void tell_revoked(struct shard *shard, const struct order *order) {
    assert(order->stage == ORDER_SETTLED && order->kind == ORDER_UNREGISTER);
    struct peer *peer = order->error ? NULL : peer_find(shard, order->mail.connection);
    if (peer && peer->state == PEER_OPEN)
        notify_replaced(shard, peer, order);
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

// Where users are on, nobody takes another one's.
static bool may_take_over(const struct shard *shard, const struct agent *agent, const struct order *order) {
    assert(order->kind == ORDER_REGISTER);
    if (agent->child || !shard->settings->takeover)
        return false;
    return !shard->settings->users || identity_same(agent->owner, order->owner);
}

static enum error decide(struct shard *shard, struct order *order) {
    const struct agent *agent = applying_find(shard, order);
    bool own = agent && agent->home->connection == order->mail.connection;
    assert(shard->index == 0);
    switch (order->kind) {
    case ORDER_REGISTER:
        if (agent && !own && !order->child && !may_take_over(shard, agent, order))
            return ERROR_AGENT_ID_TAKEN;
        if (!own && agents_at(shard, order->mail.connection) >= AGENTS_PER_CONNECTION_MAX) {
            order->limit = AGENTS_PER_CONNECTION_MAX;
            return ERROR_OVERLOADED;
        }
        return ERROR_NONE;
    case ORDER_UNREGISTER:
        if (own && order->revoked && agent->serial != order->serial)
            return ERROR_AGENT_NOT_FOUND;
        return own && !agent->child ? ERROR_NONE : ERROR_AGENT_NOT_FOUND;
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

// Whoever hears the answer may ask for the agent on another hub at once, and is to find it there: so the link to the other
// hubs sends shard 0's orders on when the server knows the agent (transport/confirming.h). Nobody waits for that but who hears
// the answer: the connection's next orders go out before.
static void confirm(struct shard *shard, struct order *order) {
    assert(order->stage == ORDER_APPLIED); // with an error it is an unregistration by now
    if (order->kind != ORDER_REGISTER || !order->request_id || !shard->hub->settings.cluster) {
        registry_settle(shard, order);
        return;
    }
    order->stage = ORDER_IN_FORCE;
    pass_on(shard, order, connection_shard(order->mail.connection));
}

static void let_next_go_on(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    admit_settled(shard, order);
    order->under_way = false;
    order->stage = ORDER_CONFIRMING;
    pass_on(shard, order, 0);
}

static void await_confirmation(struct shard *shard, struct order *order) {
    assert(shard->index == 0 && shard->link);
    order->confirmed_by = 0;
    order->confirming_ms = shard_now_ms(shard);
    list_append(&shard->confirming, &order->confirming);
}

void registry_confirmed(struct shard *shard, struct order *order) {
    assert(shard->index == 0 && order->stage == ORDER_CONFIRMING);
    list_remove(&order->confirming);
    registry_settle(shard, order);
}

// Whether shard 0 need not undo what was turned back: somebody, be it the same connection, has registered the
// id since, which all shards apply after it.
static bool is_undone(struct shard *shard, const struct order *order) {
    const struct agent *agent = applying_find(shard, order);
    assert(shard->index == 0 && order->error && order->serial);
    return agent && agent->serial != order->serial;
}

static void apply_here(struct shard *shard, struct order *order) {
    enum error before = order->error;
    if (before && shard->index == 0 && is_undone(shard, order)) {
        registry_settle(shard, order);
        return;
    }
    applying_apply(shard, order);
    if (order->error != before && shard->index == 0) { // nothing has come of it
        registry_settle(shard, order);
    } else if (order->error != before) { // undo it everywhere
        order->stage = ORDER_APPLIED;
        pass_on(shard, order, 0);
    } else if (shard->index + 1 < shard->hub->settings.shard_count) {
        pass_on(shard, order, shard->index + 1);
    } else {
        confirm(shard, order);
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

static void mark(struct shard *shard, const struct order *order) {
    struct home *home = agents_home(&shard->agents, order->mail.connection);
    assert(order->kind == ORDER_REST);
    if (!home)
        return;
    answer_mark(home);
    stream_mark(home);
}

static void mark_next(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    while (order->marking < shard->hub->settings.shard_count) {
        uint32_t to = order->marking++;
        if (to != shard->index) {
            pass_on(shard, order, to);
            return;
        }
        mark(shard, order);
    }
    order->marked(shard, order);
    order->stage = ORDER_ASKED;
    admit(shard, order);
}

void registry_submit(struct shard *shard, struct order *order) {
    assert(connection_shard(order->mail.connection) == shard->index);
    order->stage = order->marked ? ORDER_MARKING : ORDER_ASKED;
    count_for_peer(shard, order, 1);
    shard->orders_out++;
    if (order->marked)
        mark_next(shard, order);
    else
        admit(shard, order);
}

static void registry_end(struct shard *shard, struct order *order) {
    assert(shard->orders_out > 0 && connection_shard(order->mail.connection) == shard->index);
    shard->orders_out--;
    order_destroy(shard, order);
}

// Who has lost the name to it is told by way of the last shard: so that comes behind the answer to that peer's own
// registration, which went there before, and isn't followed by it.
static void registry_come_home(struct shard *shard, struct order *order) {
    if (order->error && !order->request_id && !order->revoked)
        refuse_untold(shard, order->mail.connection, order->error, 0);
    order_answer(shard, order);
    if (order->revoked)
        tell_revoked(shard, order);
    admit_settled(shard, order);
    if (order->awaited)
        --*order->awaited;
    count_for_peer(shard, order, -1);
    if (!order->replaced) {
        registry_end(shard, order);
        return;
    }
    order->stage = ORDER_TELLING;
    pass_on(shard, order, shard->hub->settings.shard_count - 1);
}

static void registry_tell(struct shard *shard, struct order *order) {
    if (connection_shard(order->replaced) != shard->index) {
        pass_on(shard, order, connection_shard(order->replaced));
        return;
    }
    tell_replaced(shard, order);
    order->stage = ORDER_TOLD;
    pass_on(shard, order, connection_shard(order->mail.connection));
}

void registry_step(struct shard *shard, struct order *order) {
    switch (order->stage) {
    case ORDER_MARKING:
        if (connection_shard(order->mail.connection) == shard->index) {
            mark_next(shard, order);
            break;
        }
        mark(shard, order);
        pass_on(shard, order, connection_shard(order->mail.connection));
        break;
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
    case ORDER_IN_FORCE:
        let_next_go_on(shard, order);
        break;
    case ORDER_CONFIRMING:
        await_confirmation(shard, order);
        break;
    case ORDER_SETTLED:
        registry_come_home(shard, order);
        break;
    case ORDER_TELLING:
        registry_tell(shard, order);
        break;
    case ORDER_TOLD:
        registry_end(shard, order);
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
