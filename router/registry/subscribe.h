// Subscriptions to events: hub/subscribe and hub/unsubscribe, and the end of a peer's subscriptions. Patterns
// of agents in capabilities.events come and go with the agents (core/agents).
//
// A subscription is known on its connection's own shard alone. The other shards know how many subscriptions the shard
// has, so that no event goes to a shard without subscriptions.
#pragma once

#include "router/engine/message/message.h"

#define SUBSCRIBE_EXPECTED "names of 1 to 255 bytes, or a prefix and * at the end"

// Answers hub/subscribe {"events":[…]}: subscribes to all patterns or, past the limit of a connection, to none. The
// result lists the connection's patterns.
void subscribe(struct shard *shard, const struct message *message);
// Answers hub/unsubscribe {"events":[…]}: removes patterns that hub/subscribe has added. Patterns of agents stay, and
// unknown patterns are ignored.
void unsubscribe(struct shard *shard, const struct message *message);

// Subscribes a peer without agents to one valid pattern. Returns false without quota.
bool subscribe_pattern(struct shard *shard, struct peer *peer, const char *pattern, size_t bytes);
// Removes all patterns of such a peer.
void subscribe_forget(struct shard *shard, struct peer *peer);

// Returns whether all names of a list in a body, as core/json/json.h reads the list, are valid patterns.
bool subscribe_review(const uint8_t *body, struct span list);

// Ends a peer's subscriptions. May be called again.
void subscribe_leave(struct shard *shard, struct peer *peer);
// Tells the other shards how many subscriptions this shard has.
void subscribe_note(struct shard *shard);
// Handles the end of a connection with agents. If that is the link, events of other hubs may be lost, and all
// subscribers are told.
void subscribe_lost(struct shard *shard);
