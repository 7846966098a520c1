// What is not routed but held until somebody approves it (router/features/gate): found out where it is known what a message
// asks for, and before anything comes of it.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"

// Takes what has to be held, and what pretends to be that event; there is a gate. What would be refused anyway
// isn't taken: whether its target is there is asked here, but not what level it supports.
bool gate_hook_takes(struct shard *shard, const struct message *message,
                     const struct rules_message *criteria);
// The same where it is known which agent it would reach, for what is held because of that agent alone: no other
// one is chosen meanwhile.
bool gate_hook_takes_at(struct shard *shard, const struct message *message, const struct agent *agent);
