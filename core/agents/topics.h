// Subscriptions of one shard: patterns → subscribers.
//
// A pattern is the exact name of an event, or a prefix and `*`; `*` alone is every event. A topic is a pattern with at
// least one subscriber. A subscription is the entry of one subscriber at one topic. A subscription exists as long as it
// has a reason: the subscriber has asked for the pattern, or agents of the subscriber list the pattern in
// capabilities.events.
//
// To match an event costs one lookup for the exact name, and one for each length of a prefix in use that isn't longer
// than the name.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agents/agent.h"
#include "core/agents/name_map.h"
#include "core/base/limits.h"
#include "core/base/list.h"
#include "core/base/siphash.h"
#include "core/json/json.h"

struct agent;
struct subscriber_count;

// The prefix of events that the hub itself publishes.
#define EVENT_OF_HUB "hub-"

// A connection with subscriptions. The owner embeds the struct and must not move it.
struct subscriber {
    struct list subscriptions; // of struct subscription.by_subscriber, oldest first
    uint32_t count;            // of subscriptions
    uint32_t number;           // unique among the subscribers of these topics
    uint64_t stamp;            // the stamp of the last event for the subscriber
};

struct topic {
    struct list subscriptions; // of struct subscription.by_topic
    uint64_t number;           // unique, and never used again
    bool prefix;               // the name ends in a `*` that stands for anything
    uint32_t bytes;
    char name[];
};

struct subscription {
    struct list by_topic;
    struct list by_subscriber;
    struct topic *topic;
    struct subscriber *subscriber;
    // The key of topics.pairs, by the numbers of both; must have no padding. Addresses would make the table's memory
    // differ from run to run.
    struct {
        uint64_t topic;
        uint64_t subscriber;
    } key;
    bool asked;       // the subscriber has asked for the pattern
    uint32_t agents;  // agents that list the pattern
    uint64_t listing; // the number of the last list with the pattern
};

struct topics {
    struct name_map exact;                  // name → struct topic
    struct name_map prefixes;               // name without its `*` → struct topic
    struct name_map pairs;                  // key → struct subscription
    uint32_t prefix_count[EVENT_BYTES_MAX]; // of topics, by the length of the prefix
    uint32_t count;                         // of subscriptions
    uint64_t numbers;                       // of topics: the last one given
    uint64_t listing;
    uint64_t stamp;                  // of the last event; the sender counts up
    struct quota *quota;             // the quota of the subscriptions
    struct subscriber_count *demand; // counts the subscriptions of all shards; or NULL
    // Counts subscriptions whose pattern matches a name with EVENT_OF_HUB; or NULL.
    _Atomic uint32_t *of_hub;
};

void topics_init(struct topics *topics, const struct siphash_key *key, struct quota *quota);
// Frees the topics. Every subscription must have been removed.
void topics_deinit(struct topics *topics);

// `number`: no other subscriber of the same topics may have the number at the same time.
void subscriber_init(struct subscriber *subscriber, uint32_t number);
static inline struct subscriber *subscriber_of(struct list *by_topic) {
    return list_entry(by_topic, struct subscription, by_topic)->subscriber;
}

// Returns whether this is a pattern: 1 to EVENT_BYTES_MAX bytes, and a `*` only at the end.
bool pattern_valid(const char *pattern, size_t bytes);

// Returns the subscription to a pattern, or NULL.
struct subscription *topics_find(const struct topics *topics, const struct subscriber *subscriber,
                                 const char *pattern, size_t bytes);
// Returns the subscription to a pattern, and makes it if there is none. The caller must give a new one a reason, or
// call topics_let_go. Returns NULL without memory.
struct subscription *topics_hold(struct topics *topics, struct subscriber *subscriber, const char *pattern,
                                 size_t bytes);
// Removes a subscription without any reason; does nothing otherwise.
void topics_let_go(struct topics *topics, struct subscription *subscription);
// Removes all subscriptions of a subscriber. No agent may list a pattern of them any more.
void topics_forget(struct topics *topics, struct subscriber *subscriber);

// Returns the list of patterns in capabilities; bytes 0: none.
struct span topics_list(const struct capabilities *capabilities);
// Returns how many patterns of that list are valid. A pattern that is listed twice counts twice.
size_t topics_listed(const struct capabilities *capabilities);
// Subscribes a subscriber (NULL: none) to the patterns in an agent's capabilities.events. Ignores invalid patterns.
// Returns false, and changes nothing, without memory.
bool topics_join(struct topics *topics, struct agent *agent, struct subscriber *subscriber);
// Ends these subscriptions, as far as the agent is their reason. May be called again.
void topics_leave(struct topics *topics, struct agent *agent);
// Returns how many subscriptions the subscriber would have if `events` (a list in a valid text; `text` NULL: none)
// replaced the list of the agent `old` (or NULL). A pattern that is listed twice may count twice.
size_t topics_predict_count(struct topics *topics, const struct subscriber *subscriber,
                            const struct agent *old, const uint8_t *text, struct span events);

// An event matches at most one topic of its exact name, and one for each length of prefix.
enum { TOPICS_MATCH_MAX = EVENT_BYTES_MAX + 1 };
// Writes the topics that match an event's name. Returns how many.
size_t topics_match(const struct topics *topics, const char *name, size_t bytes,
                    struct topic *matches[TOPICS_MATCH_MAX]);

// --- The number of subscribers

// Counts the subscriptions of all shards by pattern, without a lock, to estimate the fan-out of an event on its
// source's shard. Patterns with one hash count as one pattern, and a subscriber with two matching patterns counts
// twice. So the estimate may be too large. It is too small only while a subscription is under way.

struct subscriber_count;

// Makes an empty count, which memory_give frees. The key must outlive the count. Returns NULL without memory.
struct subscriber_count *subscriber_count_create(const struct siphash_key *key);
// Add or remove one subscription to a pattern.
void subscriber_count_add(struct subscriber_count *demand, const char *pattern, size_t bytes);
void subscriber_count_remove(struct subscriber_count *demand, const char *pattern, size_t bytes);
// Returns the number of subscriptions whose pattern matches an event's name.
uint32_t subscriber_count_for(const struct subscriber_count *demand, const char *name, size_t bytes);
