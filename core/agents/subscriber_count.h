// The number of subscribers of an event, over all shards: a table that shards share without a lock. The reach
// of an event can be foreseen where only its source is known. Patterns of one hash are counted as one, and a
// subscriber at two patterns as two. The count may be too large, and is too small only while a subscription
// is on its way.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/siphash.h"

struct subscriber_count;

// Nobody wants anything; NULL when memory is used up. memory_give gives it back. The key must outlive it.
struct subscriber_count *subscriber_count_create(const struct siphash_key *key);
// One subscription more or less to a pattern (topics.h).
void subscriber_count_add(struct subscriber_count *demand, const char *pattern, size_t bytes);
void subscriber_count_remove(struct subscriber_count *demand, const char *pattern, size_t bytes);
// How many subscriptions are to a pattern that the name of an event matches.
uint32_t subscriber_count_for(const struct subscriber_count *demand, const char *name, size_t bytes);
