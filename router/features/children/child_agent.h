// What the hub asks of an agent that is a program: functions of the registration (router/engine/shard/feature.h).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct agent;
struct message;
struct shard;
struct text;

// Adds "child" to the agent's entry of hub/agents; also of its process of the modern era.
void child_agent_describe(const struct shard *shard, const struct agent *agent, struct text *out);
// Whether the agent is a server of MCP: a request that is cancelled there has ended.
bool child_agent_cancel_ends(const struct shard *shard, const struct agent *agent);
// Puts $/cancel_request, for an agent that speaks the Agent Client Protocol. False for all others.
bool child_agent_put_cancel(const struct shard *shard, const struct agent *agent, uint64_t hub_id,
                            struct text *out);
// Whether a server of MCP has this name.
bool child_agent_has_tools(const struct shard *shard, const char *name, size_t bytes);
// Whether a message that opens or ends a session is for the agent: each to an instance of the peer's own, and of others
// an initialize of MCP.
bool child_agent_opens_there(const struct shard *shard, const struct message *message,
                             const struct agent *agent);
// Tells all instances, where each user of the agent has one.
bool child_agent_notify(struct shard *shard, const struct message *message, const struct agent *agent);
