// Notifications that go to all agents who name them in their capabilities.events, as {"name": METHOD, …}.
#pragma once

#include "router/engine/message/message.h"

// Sends a notification to all who name it but its source, once a connection. False when nobody else does, or
// it is a request: then the other rules say where it goes. An agent that supports less than the required
// level doesn't get it, nor does one whose queue is full; both are counted. Over its user's fan-out nobody
// gets it.
bool notify_fanout_route(struct shard *shard, const struct message *message);
// Whether somebody else names it, so that it would go there, of whom `wanted`, if that isn't NULL, says so.
typedef bool notify_fanout_filter(const struct shard *shard, const struct message *message,
                                  const struct agent *agent);
bool notify_fanout_some(const struct shard *shard, const struct message *message,
                        notify_fanout_filter *filter);
