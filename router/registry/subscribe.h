// Subscriptions to events: hub/subscribe and hub/unsubscribe, and the end of a peer's subscriptions. Patterns
// of agents in capabilities.events come and go with the agents (core/agents).
//
// A subscription is known on its connection's own shard alone. The others know how many subscriptions a shard
// has, so that no event goes where there are none.
#pragma once

#include "router/engine/message/message.h"

#define SUBSCRIBE_EXPECTED "names of 1 to 255 bytes, or a prefix and * at the end"

// hub/subscribe {"events":[…]}: all of them or, past the limit of a connection, none. The result names those
// in force.
void subscribe(struct shard *shard, const struct message *message);
// hub/unsubscribe {"events":[…]}: takes back what hub/subscribe gave; others, and unknown ones, stay as they
// are.
void unsubscribe(struct shard *shard, const struct message *message);

// Subscribes a peer that has no agents to one pattern, which is valid. False where there is no room for it.
bool subscribe_pattern(struct shard *shard, struct peer *peer, const char *pattern, size_t bytes);
// Takes all of its patterns back.
void subscribe_forget(struct shard *shard, struct peer *peer);

// Whether all names that a list of a body holds, as core/json/json.h reads it, are patterns.
bool subscribe_review(const uint8_t *body, struct span list);

// A peer gets no events any more. May be called again.
void subscribe_leave(struct shard *shard, struct peer *peer);
// Tells the other shards how many subscriptions there are here now.
void subscribe_note(struct shard *shard);
// A home goes; if it is the link's, events of other hubs may be lost with it, and who has subscribed to any is told.
void subscribe_lost(struct shard *shard);
