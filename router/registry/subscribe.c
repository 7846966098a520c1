#include "router/registry/subscribe.h"

#include <assert.h>

#include "core/json/json.h"
#include "router/engine/request/refuse.h"
#include "router/engine/send/send.h"
#include "router/engine/shard/identity.h"
#include "router/rights/authz.h"

void subscribe_note(struct shard *shard) {
    atomic_store_explicit(&shard->hub->subscriptions[shard->index], shard->agents.topics.count,
                          memory_order_release);
}

// The memory of a subscription, as counted: to a pattern of common length that no other peer has.
enum { SUBSCRIPTION_BYTES = 512 };

// Counts a peer's subscriptions for their holder. Returns false, and keeps the former count, if the holder would have
// more than half of the quota. Without a users file a holder is an address, which many programs may share, so a small
// count always passes.
static bool settle(struct shard *shard, struct peer *peer) {
    uint64_t bytes = (uint64_t)peer->subscriber.count * SUBSCRIPTION_BYTES;
    bool is_little = !shard->settings->users && bytes <= shard->quota.little_bytes;
    uint64_t max = is_little ? UINT64_MAX / 2 : quota_bytes_max(&shard->quota) / 2;
    if (!bytes && (!peer->cold || !peer->cold->quota_bytes))
        return true;
    struct peer_cold *cold = peer_take_cold(shard, peer);
    if (cold && !cold->quota_bytes)
        cold->quota_holder = identity_holder(shard, peer);
    if (!cold || !cold->quota_holder)
        return true;
    if (bytes < cold->quota_bytes)
        quota_shares_give(&shard->hub->shares, cold->quota_holder, cold->quota_bytes - bytes);
    else if (!quota_shares_take(&shard->hub->shares, cold->quota_holder, bytes - cold->quota_bytes, max))
        return false;
    cold->quota_bytes = bytes;
    assert(cold->quota_holder && bytes <= (uint64_t)UINT32_MAX * SUBSCRIPTION_BYTES);
    return true;
}

void subscribe_leave(struct shard *shard, struct peer *peer) {
    struct registrant *registrant = agents_registrant(&shard->agents, peer->connection_id);
    if (registrant)
        agents_silence_registrant(&shard->agents, registrant);
    assert(peer->state != PEER_OPEN);
    topics_forget(&shard->agents.topics, &peer->subscriber);
    assert(peer->subscriber.count == 0);
    settle(shard, peer);
    subscribe_note(shard);
}

// --- Reading

static bool decode_pattern(const uint8_t *body, struct span name, char pattern[EVENT_BYTES_MAX],
                           size_t *bytes) {
    *bytes = json_string_decode(body, name, pattern, EVENT_BYTES_MAX);
    return *bytes != SIZE_MAX && pattern_valid(pattern, *bytes);
}

bool subscribe_review(const uint8_t *body, struct span list) {
    char pattern[EVENT_BYTES_MAX];
    size_t bytes;
    struct name_list listing;
    name_list_begin(&listing, body, list);
    for (struct span name; name_list_next(&listing, &name);)
        if (!decode_pattern(body, name, pattern, &bytes))
            return false;
    return true;
}

static void refuse_count(struct shard *shard, const struct message *message) {
    struct text data;
    text_init(&data);
    reply_data_text(&data, "field", "params.events");
    reply_data_number(&data, "limit", SUBSCRIPTIONS_PER_CONNECTION_MAX);
    refuse(shard, message, ERROR_INVALID_PARAMS, &data);
}

// Reads params.events: an array of patterns and nothing else, walked to its end, so that later steps can't
// fail. The array has no more of them than can be in force, so that naming one very often is no work.
static bool read_list(struct shard *shard, const struct message *message, struct span *list) {
    struct json_item events = message_param(message, "events");
    char pattern[EVENT_BYTES_MAX];
    size_t bytes;
    bool ok = events.type == JSON_ARRAY;
    struct json_walk walk;
    enum json_step step = JSON_END;
    *list = events.value;
    if (ok)
        json_walk_begin(&walk, message->body, *list);
    uint32_t count = 0;
    for (struct json_item item; ok && (step = json_next(&walk, &item)) == JSON_ITEM;) {
        if (++count > SUBSCRIPTIONS_PER_CONNECTION_MAX) {
            refuse_count(shard, message);
            return false;
        }
        ok = item.type == JSON_STRING && decode_pattern(message->body, item.value, pattern, &bytes);
    }
    if (ok && step == JSON_END)
        return true;
    refuse_field(shard, message, "params.events", "an array of " SUBSCRIBE_EXPECTED);
    return false;
}

static bool check_list(struct shard *shard, const struct message *message, struct span list) {
    char pattern[EVENT_BYTES_MAX];
    size_t bytes;
    struct name_list listing;
    name_list_begin(&listing, message->body, list);
    for (struct span name; shard->settings->users && name_list_next(&listing, &name);)
        if (!decode_pattern(message->body, name, pattern, &bytes) ||
            !authz_subscribe(shard, message, pattern, bytes))
            return false;
    return true;
}

// --- Answering

static void answer_in_force(struct shard *shard, const struct message *message) {
    if (!message_is_request(message))
        return;
    const struct list *all = &message->peer->subscriber.subscriptions;
    assert(message->peer->subscriber.count <= SUBSCRIPTIONS_PER_CONNECTION_MAX);
    struct text result;
    text_init(&result);
    text_put(&result, "{\"events\":[");
    for (struct list *node = all->next; node != all; node = node->next) {
        const struct topic *topic = list_entry(node, struct subscription, by_subscriber)->topic;
        text_put(&result, node == all->next ? "" : ",");
        text_string(&result, topic->name, topic->bytes);
    }
    text_put(&result, "]}");
    message_reply(shard, message, &result);
}

// --- Subscribing

// Returns whether a connection may have so many subscriptions.
static bool is_within_share(const struct shard *shard, uint32_t count) {
    assert(count > 0);
    return quota_is_fair(&shard->quota, (uint64_t)count * SUBSCRIPTION_BYTES);
}

// Returns whether a connection may have so many subscriptions, beside the patterns of registrations under way.
static bool is_few(const struct peer *peer, uint32_t count) {
    return count + peer->admission.patterns <= SUBSCRIPTIONS_PER_CONNECTION_MAX;
}

// Makes a subscription for each pattern, without a reason yet. Without memory or quota, or past the connection's limit,
// removes them again, refuses the message and returns false. The new subscriptions are the last of the list.
static bool make_entries(struct shard *shard, const struct message *message, struct span list) {
    struct topics *topics = &shard->agents.topics;
    struct subscriber *subscriber = &message->peer->subscriber;
    uint32_t previous = subscriber->count;
    char pattern[EVENT_BYTES_MAX];
    size_t bytes;
    bool is_made = true;
    struct name_list listing;
    name_list_begin(&listing, message->body, list);
    for (struct span name; is_made && name_list_next(&listing, &name);)
        is_made = decode_pattern(message->body, name, pattern, &bytes) &&
                  topics_hold(topics, subscriber, pattern, bytes) &&
                  (subscriber->count == previous ||
                   (is_few(message->peer, subscriber->count) && is_within_share(shard, subscriber->count)));
    bool crowded = subscriber->count > previous && !is_few(message->peer, subscriber->count);
    bool over_share = is_made && !settle(shard, message->peer);
    is_made &= !over_share;
    while (!is_made && subscriber->count > previous)
        topics_let_go(topics, list_entry(subscriber->subscriptions.prev, struct subscription, by_subscriber));
    assert(is_made || subscriber->count == previous);
    if (!is_made && crowded)
        refuse_count(shard, message);
    else if (over_share)
        refuse_share(shard, message);
    else if (!is_made)
        refuse_without_quota(shard, message, NULL);
    return is_made;
}

// Sets or clears the reason "hub/subscribe" of each subscription. A subscription without any reason is removed.
static void set_asked(struct shard *shard, const struct message *message, struct span list,
                      bool is_requested) {
    struct topics *topics = &shard->agents.topics;
    char pattern[EVENT_BYTES_MAX];
    size_t bytes;
    struct name_list listing;
    name_list_begin(&listing, message->body, list);
    for (struct span name; name_list_next(&listing, &name);) {
        struct subscription *subscription =
            decode_pattern(message->body, name, pattern, &bytes)
                ? topics_find(topics, &message->peer->subscriber, pattern, bytes)
                : NULL;
        if (!subscription)
            continue;
        subscription->asked = is_requested;
        topics_let_go(topics, subscription);
    }
    settle(shard, message->peer);
    subscribe_note(shard);
}

bool subscribe_pattern(struct shard *shard, struct peer *peer, const char *pattern, size_t bytes) {
    struct topics *topics = &shard->agents.topics;
    struct subscription *subscription = topics_hold(topics, &peer->subscriber, pattern, bytes);
    if (!subscription)
        return false;
    subscription->asked = is_few(peer, peer->subscriber.count) &&
                          is_within_share(shard, peer->subscriber.count) && settle(shard, peer);
    bool is_requested = subscription->asked;
    topics_let_go(topics, subscription);
    subscribe_note(shard);
    return is_requested;
}

void subscribe_forget(struct shard *shard, struct peer *peer) {
    topics_forget(&shard->agents.topics, &peer->subscriber);
    settle(shard, peer);
    subscribe_note(shard);
}

void subscribe(struct shard *shard, const struct message *message) {
    struct span list;
    if (!read_list(shard, message, &list) || !check_list(shard, message, list))
        return;
    if (message->peer->state != PEER_OPEN) {
        refuse_for(shard, message, ERROR_OVERLOADED, "this connection is ending");
        return;
    }
    if (!make_entries(shard, message, list))
        return;
    set_asked(shard, message, list, true);
    if (hub_has_cluster(shard->hub) && shard->index)
        shard_wake(shard, 0); // shard 0 tells the other hubs that this hub has subscribers to presence
    answer_in_force(shard, message);
}

void unsubscribe(struct shard *shard, const struct message *message) {
    struct span list;
    if (!read_list(shard, message, &list))
        return;
    set_asked(shard, message, list, false);
    if (!refuse_result(shard, message)) // done also for a slow reader, which may want fewer events
        answer_in_force(shard, message);
}

void subscribe_lost(struct shard *shard) {
    if (shard->phase != HUB_SERVING)
        return;
    for (uint32_t slot = 0; slot < shard->peers.capacity; slot++)
        if (shard->peers.slots[slot] && shard->peers.slots[slot]->subscriber.count > 0)
            send_missed_unknown(shard, shard->peers.slots[slot]);
}
