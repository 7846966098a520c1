// Decides which messages are held until somebody approves them (router/features/gate): once it is known what a
// message asks for, and before it has any effect.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"

// Takes a message that must be held, and one that forges the gate's event. The shard must have a gate. A message that
// would be refused anyway isn't taken: the target must be there, whatever level it supports.
bool gate_hook_takes(struct shard *shard, const struct message *message,
                     const struct rules_message *criteria);
// Takes a message that must be held because of the agent that the rules have chosen. No other agent is chosen
// meanwhile.
bool gate_hook_takes_at(struct shard *shard, const struct message *message, const struct agent *agent);
