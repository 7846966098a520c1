// Subscriptions of one shard: patterns → subscribers.
//
// A pattern is the exact name of an event, or a prefix and `*`; `*` alone is every event. A topic is a
// pattern with a subscriber, and is there as long as it has one. A subscription is one subscriber's entry at
// one topic. A subscription has reasons that don't depend on each other: the subscriber asked for it, and a
// number of its agents list it in their capabilities.events. When the last reason goes, the subscription
// goes.
//
// Matching an event costs one look into a hash table for the exact names. Each length of prefix that is in
// use and not longer than the event's name costs one more.
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

// Names that begin so are of events that the hub itself publishes.
#define EVENT_OF_HUB "hub-"

// A connection as it subscribes. The subscriber lies in its owner and stays where it is.
struct subscriber {
    struct list subscriptions; // struct subscription.by_subscriber, the first one first
    uint32_t count;            // of them
    uint32_t number;           // no other subscriber of these topics has the number
    uint64_t stamp;            // the last event that it was offered
};

struct topic {
    struct list subscriptions; // struct subscription.by_topic
    uint64_t number;           // no other topic has the number, nor had it before
    bool prefix;               // the name ends in a `*` that stands for anything
    uint32_t bytes;
    char name[];
};

struct subscription {
    struct list by_topic;
    struct list by_subscriber;
    struct topic *topic;
    struct subscriber *subscriber;
    // The numbers of both, by which the subscription is found; no padding. Addresses would make the memory of the table
    // differ from run to run.
    struct {
        uint64_t topic;
        uint64_t subscriber;
    } key;
    bool asked;       // by the subscriber
    uint32_t agents;  // that list it
    uint64_t listing; // the last listing that named it
};

struct topics {
    struct name_map exact;                  // name → struct topic
    struct name_map prefixes;               // name without its `*` → struct topic
    struct name_map pairs;                  // key → struct subscription
    uint32_t prefix_count[EVENT_BYTES_MAX]; // of topics, by the length of the prefix
    uint32_t count;                         // of subscriptions
    uint64_t numbers;                       // of topics: the last one given
    uint64_t listing;
    uint64_t stamp;                  // of the last event: whoever offers it to subscribers counts up
    struct quota *quota;             // the account of their memory
    struct subscriber_count *demand; // where they are counted with those of other shards; NULL: nowhere
    // Where those are counted whose pattern matches a name that begins with EVENT_OF_HUB; NULL: nowhere.
    _Atomic uint32_t *of_hub;
};

void topics_init(struct topics *topics, const struct siphash_key *key, struct quota *quota);
// Every subscription must have gone.
void topics_deinit(struct topics *topics);

// `number`: no other subscriber of the same topics may have the number at the same time.
void subscriber_init(struct subscriber *subscriber, uint32_t number);
static inline struct subscriber *subscriber_of(struct list *by_topic) {
    return list_entry(by_topic, struct subscription, by_topic)->subscriber;
}

// Whether this is a pattern: 1 to EVENT_BYTES_MAX bytes, and a `*` only at the end.
bool pattern_valid(const char *pattern, size_t bytes);

// The subscription to a pattern, or NULL.
struct subscription *topics_find(const struct topics *topics, const struct subscriber *subscriber,
                                 const char *pattern, size_t bytes);
// Returns the subscription to a pattern, made if it isn't there; a new one must get a reason or be let go. NULL when
// memory is used up.
struct subscription *topics_hold(struct topics *topics, struct subscriber *subscriber, const char *pattern,
                                 size_t bytes);
// Takes a subscription out if there is no reason for it any more.
void topics_let_go(struct topics *topics, struct subscription *subscription);
// Takes all of a subscriber's out, which no agent lists any more.
void topics_forget(struct topics *topics, struct subscriber *subscriber);

// The patterns that capabilities list; bytes 0: they list none.
struct span topics_list(const struct capabilities *capabilities);
// How many of them are valid; one that is listed twice counts twice.
size_t topics_listed(const struct capabilities *capabilities);
// An agent's capabilities.events become reasons for subscriptions of this subscriber (NULL: none); false when
// memory is used up, and nothing has changed. Patterns that aren't valid are passed over.
bool topics_join(struct topics *topics, struct agent *agent, struct subscriber *subscriber);
// Takes those reasons back. May be called again.
void topics_leave(struct topics *topics, struct agent *agent);
// How many subscriptions there would be if an agent's `events` (a list of a valid text, or NULL: none) took
// the place of what `old` (or NULL) lists. A pattern that is listed twice may count twice.
size_t topics_predict_count(struct topics *topics, const struct subscriber *subscriber,
                            const struct agent *old, const uint8_t *text, struct span events);

// An event can have one topic of its exact name, and one for each length of prefix.
enum { TOPICS_MATCH_MAX = EVENT_BYTES_MAX + 1 };
// Writes down the topics that an event's name belongs to, and returns how many.
size_t topics_match(const struct topics *topics, const char *name, size_t bytes,
                    struct topic *matches[TOPICS_MATCH_MAX]);

// --- How many subscribe

// The number of subscribers of an event, over all shards: a table that shards share without a lock. The reach
// of an event can be foreseen where only its source is known. Patterns of one hash are counted as one, and a
// subscriber at two patterns as two. The count may be too large, and is too small only while a subscription
// is on its way.

struct subscriber_count;

// Nobody wants anything; NULL when memory is used up. memory_give gives it back. The key must outlive it.
struct subscriber_count *subscriber_count_create(const struct siphash_key *key);
// One subscription more or less to a pattern (topics.h).
void subscriber_count_add(struct subscriber_count *demand, const char *pattern, size_t bytes);
void subscriber_count_remove(struct subscriber_count *demand, const char *pattern, size_t bytes);
// How many subscriptions are to a pattern that the name of an event matches.
uint32_t subscriber_count_for(const struct subscriber_count *demand, const char *name, size_t bytes);
