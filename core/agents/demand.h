// How many want an event, over all shards: a table that they share without a lock, so that what an event will reach can be
// foreseen where only its source is known. Patterns of one hash are counted as one, and a subscriber at two patterns as two:
// what is foreseen may be too much, and is too little only while a subscription is on its way.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/base/siphash.h"

struct demand;

// Nobody wants anything; NULL when memory is used up. memory_give gives it back. The key must outlive it.
struct demand *demand_create(const struct siphash_key *key);
// One subscription more or less to a pattern (topics.h).
void demand_add(struct demand *demand, const char *pattern, size_t bytes);
void demand_remove(struct demand *demand, const char *pattern, size_t bytes);
// How many subscriptions are to a pattern that the name of an event matches.
uint32_t demand_for(const struct demand *demand, const char *name, size_t bytes);
