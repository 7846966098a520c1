// Decides which messages are held (router/features/gate): when it is known what a message asks for, and before the
// message has any effect.
#pragma once

#include "core/agents/rules.h"
#include "router/engine/message/message.h"

// Takes a message that must be held, or that forges the gate's event. The hub must have a gate. A message that would be
// refused anyway isn't taken: its target must be there, whatever level the target supports.
bool gate_hook_takes(struct shard *shard, const struct message *message,
                     const struct rules_message *criteria);
// Takes a message that must be held because of the agent that the rules have chosen. The message stays with this agent.
bool gate_hook_takes_at(struct shard *shard, const struct message *message, const struct agent *agent);
