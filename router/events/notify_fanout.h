// Delivers notifications to all agents that name the method in capabilities.events, as {"name": METHOD, …}.
#pragma once

#include "router/engine/message/message.h"

// Sends a notification once to each connection with such an agent, but not to the source. Returns false for a request,
// or if no other agent names the method: then other rules decide. An agent that supports a lower level than required,
// or whose queue is full, doesn't get the notification; both are counted. Over the fan-out limit of its user, a
// notification goes to no agent.
bool notify_fanout_route(struct shard *shard, const struct message *message);
// Returns whether an agent of another connection names the notification's method. `wanted`, if not NULL, selects among
// such agents.
typedef bool notify_fanout_filter(const struct shard *shard, const struct message *message,
                                  const struct agent *agent);
bool notify_fanout_some(const struct shard *shard, const struct message *message,
                        notify_fanout_filter *filter);
