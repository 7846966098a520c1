#include "core/agents/topics.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "core/agents/agent.h"
#include "core/base/limits.h"
#include "core/base/memory.h"
#include "core/json/json.h"

static_assert(sizeof((struct subscription *)0)->key == 2 * sizeof(uint64_t),
              "a key is compared by its bytes");

void topics_init(struct topics *topics, const struct siphash_key *key, struct quota *quota) {
    *topics = (struct topics){.quota = quota};
    name_map_init(&topics->exact, key, quota);
    name_map_init(&topics->prefixes, key, quota);
    name_map_init(&topics->pairs, key, quota);
}

void topics_deinit(struct topics *topics) {
    assert(topics->count == 0 && topics->pairs.count == 0);
    assert(topics->exact.count == 0 && topics->prefixes.count == 0);
    name_map_deinit(&topics->exact);
    name_map_deinit(&topics->prefixes);
    name_map_deinit(&topics->pairs);
}

void subscriber_init(struct subscriber *subscriber, uint32_t number) {
    *subscriber = (struct subscriber){.number = number};
    list_init(&subscriber->subscriptions);
}

// --- Topics

static bool is_prefix(const char *pattern, size_t bytes) {
    assert(bytes > 0);
    return pattern[bytes - 1] == '*';
}

bool pattern_valid(const char *pattern, size_t bytes) {
    return bytes >= 1 && bytes <= EVENT_BYTES_MAX && !memchr(pattern, '*', bytes - 1);
}

static struct topic *topics_named(const struct topics *topics, const char *pattern, size_t bytes) {
    assert(bytes <= EVENT_BYTES_MAX);
    return is_prefix(pattern, bytes) ? name_map_get(&topics->prefixes, pattern, bytes - 1)
                                     : name_map_get(&topics->exact, pattern, bytes);
}

static struct topic *topic_make(struct topics *topics, const char *pattern, size_t bytes) {
    assert(pattern_valid(pattern, bytes));
    struct topic *topic = quota_take(topics->quota, sizeof *topic + bytes);
    if (!topic)
        return NULL;
    list_init(&topic->subscriptions);
    topic->number = ++topics->numbers;
    topic->prefix = is_prefix(pattern, bytes);
    topic->bytes = (uint32_t)bytes;
    memcpy(topic->name, pattern, bytes);
    struct name_map *map = topic->prefix ? &topics->prefixes : &topics->exact;
    if (!name_map_add(map, topic->name, bytes - topic->prefix, topic)) {
        quota_give(topics->quota, topic);
        return NULL;
    }
    if (topic->prefix)
        topics->prefix_count[bytes - 1]++;
    return topic;
}

static void topics_drop_if_empty(struct topics *topics, struct topic *topic) {
    if (!list_empty(&topic->subscriptions))
        return;
    assert(!topic->prefix || topics->prefix_count[topic->bytes - 1] > 0);
    if (topic->prefix)
        topics->prefix_count[topic->bytes - 1]--;
    struct name_map *map = topic->prefix ? &topics->prefixes : &topics->exact;
    name_map_remove(map, topic->name, topic->bytes - topic->prefix);
    name_map_shrink(map);
    quota_give(topics->quota, topic);
}

// --- Subscriptions

static struct subscription *at_topic(const struct topics *topics, const struct topic *topic,
                                     const struct subscriber *subscriber) {
    uint64_t key[2] = {topic->number, subscriber->number};
    return name_map_get(&topics->pairs, (const char *)key, sizeof key);
}

struct subscription *topics_find(const struct topics *topics, const struct subscriber *subscriber,
                                 const char *pattern, size_t bytes) {
    const struct topic *topic = topics_named(topics, pattern, bytes);
    return topic ? at_topic(topics, topic, subscriber) : NULL;
}

// Counts a subscription to a topic up or down in the counters that other shards read.
static void note_demand(struct topics *topics, const struct topic *topic, bool more) {
    static const char of_hub[] = EVENT_OF_HUB;
    size_t fixed = topic->bytes - topic->prefix, compared = sizeof of_hub - 1;
    if (topics->demand && more)
        subscriber_count_add(topics->demand, topic->name, topic->bytes);
    else if (topics->demand)
        subscriber_count_remove(topics->demand, topic->name, topic->bytes);
    if (topic->prefix && fixed < compared)
        compared = fixed;
    if (!topics->of_hub || fixed < compared || memcmp(topic->name, of_hub, compared) != 0)
        return;
    uint32_t before = atomic_fetch_add(topics->of_hub, more ? 1u : UINT32_MAX);
    assert(more || before > 0);
    (void)before;
}

static struct subscription *subscription_make(struct topics *topics, struct topic *topic,
                                              struct subscriber *subscriber) {
    struct subscription *subscription = quota_take_zeroed(topics->quota, 1, sizeof *subscription);
    if (!subscription)
        return NULL;
    subscription->topic = topic;
    subscription->subscriber = subscriber;
    subscription->key.topic = topic->number;
    subscription->key.subscriber = subscriber->number;
    if (!name_map_add(&topics->pairs, (const char *)&subscription->key, sizeof subscription->key,
                      subscription)) {
        quota_give(topics->quota, subscription);
        return NULL;
    }
    list_append(&topic->subscriptions, &subscription->by_topic);
    list_append(&subscriber->subscriptions, &subscription->by_subscriber);
    subscriber->count++;
    topics->count++;
    note_demand(topics, topic, true);
    assert(topics->count == topics->pairs.count);
    return subscription;
}

struct subscription *topics_hold(struct topics *topics, struct subscriber *subscriber, const char *pattern,
                                 size_t bytes) {
    struct topic *topic = topics_named(topics, pattern, bytes);
    struct subscription *subscription = topic ? at_topic(topics, topic, subscriber) : NULL;
    if (subscription)
        return subscription;
    if (!topic)
        topic = topic_make(topics, pattern, bytes);
    if (!topic)
        return NULL;
    subscription = subscription_make(topics, topic, subscriber);
    if (!subscription)
        topics_drop_if_empty(topics, topic);
    return subscription;
}

void topics_let_go(struct topics *topics, struct subscription *subscription) {
    if (subscription->asked || subscription->agents)
        return;
    struct topic *topic = subscription->topic;
    assert(subscription->subscriber->count > 0 && topics->count == topics->pairs.count);
    name_map_remove(&topics->pairs, (const char *)&subscription->key, sizeof subscription->key);
    name_map_shrink(&topics->pairs);
    list_remove(&subscription->by_topic);
    list_remove(&subscription->by_subscriber);
    subscription->subscriber->count--;
    topics->count--;
    note_demand(topics, topic, false);
    quota_give(topics->quota, subscription);
    topics_drop_if_empty(topics, topic);
}

void topics_forget(struct topics *topics, struct subscriber *subscriber) {
    while (!list_empty(&subscriber->subscriptions)) {
        struct subscription *subscription =
            list_entry(subscriber->subscriptions.next, struct subscription, by_subscriber);
        assert(!subscription->agents);
        subscription->asked = false;
        topics_let_go(topics, subscription);
    }
    assert(subscriber->count == 0);
}

// --- Lists in capabilities

// Decodes the next valid pattern of a list. Returns its length; 0: there is none.
static size_t next_pattern(struct name_list *listing, char pattern[EVENT_BYTES_MAX]) {
    for (struct span name; name_list_next(listing, &name);) {
        size_t bytes = json_string_decode(listing->walk.text, name, pattern, EVENT_BYTES_MAX);
        if (bytes != SIZE_MAX && pattern_valid(pattern, bytes))
            return bytes;
    }
    return 0;
}

struct span topics_list(const struct capabilities *capabilities) {
    struct json_item events = json_member(capabilities->text, capabilities_span(capabilities), "events");
    return events.type == JSON_ARRAY || events.type == JSON_OBJECT ? events.value : (struct span){0};
}

static bool begin_events(const struct capabilities *capabilities, struct name_list *listing) {
    struct span list = topics_list(capabilities);
    if (list.bytes)
        name_list_begin(listing, capabilities->text, list);
    return list.bytes != 0;
}

static size_t count_patterns(struct name_list listing) {
    char pattern[EVENT_BYTES_MAX];
    size_t count = 0;
    while (next_pattern(&listing, pattern))
        count++;
    return count;
}

size_t topics_listed(const struct capabilities *capabilities) {
    struct name_list listing;
    return begin_events(capabilities, &listing) ? count_patterns(listing) : 0;
}

bool topics_join(struct topics *topics, struct agent *agent, struct subscriber *subscriber) {
    assert(!agent->subscriptions && agent->subscription_count == 0);
    struct name_list listing;
    char pattern[EVENT_BYTES_MAX];
    if (!subscriber || !begin_events(agent->capabilities, &listing))
        return true;
    size_t count = count_patterns(listing);
    if (count == 0)
        return true;
    agent->subscriptions = quota_take(topics->quota, count * sizeof(struct subscription *));
    if (!agent->subscriptions)
        return false;
    topics->listing++;
    for (size_t bytes; (bytes = next_pattern(&listing, pattern));) {
        struct subscription *subscription = topics_hold(topics, subscriber, pattern, bytes);
        if (!subscription) {
            topics_leave(topics, agent);
            return false;
        }
        if (subscription->listing == topics->listing) // the pattern is listed twice
            continue;
        subscription->listing = topics->listing;
        subscription->agents++;
        assert(agent->subscription_count < count);
        agent->subscriptions[agent->subscription_count++] = subscription;
    }
    return true;
}

void topics_leave(struct topics *topics, struct agent *agent) {
    for (size_t index = 0; index < agent->subscription_count; index++) {
        assert(agent->subscriptions[index]->agents > 0);
        agent->subscriptions[index]->agents--;
        topics_let_go(topics, agent->subscriptions[index]);
    }
    quota_give(topics->quota, agent->subscriptions);
    agent->subscriptions = NULL;
    agent->subscription_count = 0;
}

size_t topics_predict_count(struct topics *topics, const struct subscriber *subscriber,
                            const struct agent *old, const uint8_t *text, struct span events) {
    struct name_list listing;
    char pattern[EVENT_BYTES_MAX];
    size_t count = subscriber->count;
    topics->listing++;
    if (events.bytes)
        name_list_begin(&listing, text, events);
    for (size_t bytes; events.bytes && (bytes = next_pattern(&listing, pattern));) {
        struct subscription *subscription = topics_find(topics, subscriber, pattern, bytes);
        if (subscription)
            subscription->listing = topics->listing;
        else
            count++;
    }
    for (size_t index = 0; old && index < old->subscription_count; index++) {
        const struct subscription *subscription = old->subscriptions[index];
        assert(subscription->subscriber == subscriber && count > 0);
        if (!subscription->asked && subscription->agents == 1 && subscription->listing != topics->listing)
            count--;
    }
    return count;
}

// --- Matching

size_t topics_match(const struct topics *topics, const char *name, size_t bytes,
                    struct topic *matches[TOPICS_MATCH_MAX]) {
    size_t count = 0;
    struct topic *topic = name_map_get(&topics->exact, name, bytes);
    if (topic)
        matches[count++] = topic;
    if (topics->prefixes.count == 0)
        return count;
    for (size_t length = 0; length <= bytes && length < EVENT_BYTES_MAX; length++) {
        topic = topics->prefix_count[length] ? name_map_get(&topics->prefixes, name, length) : NULL;
        if (topic)
            matches[count++] = topic;
    }
    assert(count <= TOPICS_MATCH_MAX);
    return count;
}

// --- Counts of subscribers

enum { PLACES = 1 << 14 };

struct subscriber_count {
    const struct siphash_key *key;
    _Atomic uint32_t prefixes[EVENT_BYTES_MAX + 1]; // prefix patterns by length, including the `*`
    _Atomic uint32_t places[PLACES];                // patterns by hash
};

struct subscriber_count *subscriber_count_create(const struct siphash_key *key) {
    struct subscriber_count *demand = memory_take_zeroed(1, sizeof *demand);
    if (demand)
        demand->key = key;
    return demand;
}

static uint64_t place_of(const struct subscriber_count *demand, const char *pattern, size_t bytes) {
    assert(bytes > 0 && bytes <= EVENT_BYTES_MAX);
    return siphash_table(demand->key, pattern, bytes) % PLACES;
}

static void count_up(_Atomic uint32_t *count) {
    atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
}

static void count_down(_Atomic uint32_t *count) {
    uint32_t before = atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
    assert(before > 0);
    (void)before;
}

void subscriber_count_add(struct subscriber_count *demand, const char *pattern, size_t bytes) {
    count_up(&demand->places[place_of(demand, pattern, bytes)]);
    if (pattern[bytes - 1] == '*')
        count_up(&demand->prefixes[bytes]);
}

void subscriber_count_remove(struct subscriber_count *demand, const char *pattern, size_t bytes) {
    count_down(&demand->places[place_of(demand, pattern, bytes)]);
    if (pattern[bytes - 1] == '*')
        count_down(&demand->prefixes[bytes]);
}

static uint32_t at(const struct subscriber_count *demand, const char *pattern, size_t bytes) {
    return atomic_load_explicit(&demand->places[place_of(demand, pattern, bytes)], memory_order_relaxed);
}

uint32_t subscriber_count_for(const struct subscriber_count *demand, const char *name, size_t bytes) {
    char pattern[EVENT_BYTES_MAX];
    assert(bytes > 0 && bytes <= EVENT_BYTES_MAX);
    // A name that ends in `*` would be taken for a pattern
    uint32_t count = name[bytes - 1] == '*' ? 0 : at(demand, name, bytes);
    memcpy(pattern, name, bytes);
    for (size_t prefix = 1; prefix <= bytes + 1 && prefix <= EVENT_BYTES_MAX; prefix++) {
        if (!atomic_load_explicit(&demand->prefixes[prefix], memory_order_relaxed))
            continue;
        pattern[prefix - 1] = '*';
        count += at(demand, pattern, prefix);
        if (prefix <= bytes)
            pattern[prefix - 1] = name[prefix - 1];
    }
    return count;
}
