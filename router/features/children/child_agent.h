// Tells the hub about an agent that is a child. These are functions of the feature (router/engine/shard/feature.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct message;
struct shard;
struct text;

// Adds "child" to the agent's entry of hub/agents, with the process of the modern era.
void child_agent_describe(const struct shard *shard, const struct agent *agent, struct text *out);
// Returns whether the agent is an MCP server: a request that is cancelled there has ended.
bool child_agent_cancel_ends(const struct shard *shard, const struct agent *agent);
// Writes $/cancel_request for an agent that speaks the Agent Client Protocol. Returns false for all others.
bool child_agent_put_cancel(const struct shard *shard, const struct agent *agent, uint64_t hub_id,
                            struct text *out);
// Returns whether an MCP server has this name.
bool child_agent_has_tools(const struct shard *shard, const char *name, size_t bytes);
// Returns whether a message that opens or ends a session is for the agent. A peer's own instance gets all such
// messages; another MCP server gets MCP's initialize alone.
bool child_agent_opens_there(const struct shard *shard, const struct message *message,
                             const struct agent *agent);
// Sends a notification to all instances, if each user of the agent has one. Returns false for another agent.
bool child_agent_notify(struct shard *shard, const struct message *message, const struct agent *agent);
