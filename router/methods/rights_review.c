#include "router/methods/rights_review.h"

#include <assert.h>
#include <string.h>

#include "core/rights/rights.h"
#include "router/engine/shard/feature_call.h"
#include "router/engine/shard/identity.h"
#include "router/registry/registry.h"
#include "router/registry/subscribe.h"
#include "router/rights/authn.h"
#include "router/rights/authz.h"
#include "router/rights/authz_cache.h"

static void revoke_agent(struct shard *shard, struct peer *peer, const struct agent *agent) {
    struct order *order = order_create(shard, ORDER_UNREGISTER, peer->connection_id);
    if (!order) {
        peer_close(shard, peer, COUNT_CLOSED_NO_MEMORY);
        return;
    }
    assert(agent->id_bytes <= AGENT_ID_BYTES_MAX && !agent->child);
    memcpy(order->agent_id, agent->id, agent->id_bytes);
    order->agent_id_bytes = (uint32_t)agent->id_bytes;
    order->revoked = true;
    order->serial = agent->serial; // one that is registered anew meanwhile is judged anew
    registry_submit(shard, order);
}

static void rights_review_agents(struct shard *shard, struct peer *peer, const struct user *user) {
    struct registrant *registrant = agents_registrant(&shard->agents, peer->connection_id);
    for (struct list *node = registrant ? registrant->agents.next : NULL, *next;
         registrant && node != &registrant->agents; node = next) {
        const struct agent *agent = list_entry(node, struct agent, by_registrant);
        enum rule rule;
        next = node->next;
        if (!agent->child &&
            !authz_registration(user, agent->id, agent->id_bytes, agent->capabilities->text,
                                capabilities_span(agent->capabilities), agent->governance, &rule))
            revoke_agent(shard, peer, agent);
    }
}

static void rights_review_subscriptions(struct shard *shard, struct peer *peer, const struct user *user) {
    struct list *all = &peer->subscriber.subscriptions;
    assert(user && peer->state == PEER_OPEN);
    for (struct list *node = all->next, *next; node != all; node = next) {
        struct subscription *subscription = list_entry(node, struct subscription, by_subscriber);
        const struct topic *topic = subscription->topic;
        next = node->next;
        if (!subscription->asked || authz_may_receive(user, topic->name, topic->bytes))
            continue;
        subscription->asked = false;
        topics_let_go(&shard->agents.topics, subscription);
    }
    subscribe_note(shard);
    if (peer->transport->receives_only && list_empty(all)) {
        stats_count(&shard->stats, COUNT_CLOSED_REVOKED);
        peer_linger(shard, peer);
    }
}

static void revoke(struct shard *shard, struct peer *peer) {
    if (peer->state == PEER_OPEN && peer_end_own(shard, peer, PEER_END_REVOKED))
        stats_count(&shard->stats, COUNT_CLOSED_REVOKED);
    else if (peer->state != PEER_SILENCED && peer->state != PEER_SHUT)
        peer_close(shard, peer, COUNT_CLOSED_REVOKED);
}

// A wrong credential is told as it was, and nobody who isn't known yet has anything but, perhaps, a credential that its
// connection bears.
static void rights_review_peer(struct shard *shard, struct peer *peer, struct identity *identity) {
    assert(identity->peer == peer);
    identity->peer_credential.users = NULL; // the authorities may have changed, and not the users
    authz_cache_forget_calls(identity);
    if (peer->state == PEER_CLOSING)
        return;
    if (!identity->user) {
        peer_credential_review(shard, peer);
        return;
    }
    const struct user *user =
        peer_credential_lookup(shard, peer, identity->user, identity->kind, &identity->digest);
    bool is_child = identity->kind == CREDENTIAL_CHILD;
    if (!is_child && !identity_same(user, identity->user)) {
        identity->revoked = true;
        revoke(shard, peer);
        return;
    }
    identity->user = user;
    if (peer->state != PEER_OPEN)
        return;
    user = authz_user(shard, peer);
    if (!rights_level(user, peer->governance).allowed)
        peer->governance = users_rights(user)->level;
    rights_review_subscriptions(shard, peer, user);
    rights_review_agents(shard, peer, user);
}

void rights_review_all(struct shard *shard) {
    shard->review_due = false;
    for (uint32_t slot = 0; shard->settings->users && slot < shard->peers.capacity; slot++) {
        struct peer *peer = shard->peers.slots[slot];
        struct identity *identity = peer ? identity_of(peer) : NULL;
        if (identity)
            rights_review_peer(shard, peer, identity);
    }
    if (!shard->settings->users)
        return;
    feature_rights_changed(shard);
}
