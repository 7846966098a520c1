// Marks messages to programs that know their users apart (router/features/mcp/mcp.c, per_client.c). The program's shard
// reads the mark on the parcel instead of the message.
#pragma once

#include "core/agents/agent.h"
#include "core/mcp/mcp_message.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

// Returns whether an agent that has a child is such a program. child_mux_is tells so of any agent.
bool child_mux_find(const struct agent *agent);
static inline bool child_mux_is(const struct agent *agent) {
    return agent->child && child_mux_find(agent);
}
// Marks the parcel of a message to such an agent with the message's source and kind.
void child_mux_note(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct parcel *parcel);
// Refuses a message from another hub if an MCP server would later tell its source something because of the message. The
// hub knows such a source by the link alone, and only answers and progress go back by the link. Returns whether the
// message was refused.
bool child_mux_refuses(struct shard *shard, const struct message *message, const struct agent *agent);
// Refuses a call of a tool that an MCP server's section leaves out, as of a tool that doesn't exist. Returns whether
// the message was refused.
bool child_mux_lacks_tool(struct shard *shard, const struct message *message, const struct agent *agent);
// Returns whether the parcel's source gets answers alone, and no notifications or requests of the program. Each source
// at another hub is such a source.
bool child_mux_answers_only(const struct parcel *parcel);
// Returns whether the parcel's message is of the modern era.
bool child_mux_is_modern(const struct parcel *parcel);
// Returns whether a message of the modern era asks for log messages.
bool child_mux_wants_log(const struct parcel *parcel);
// Returns whether the parcel is a user's `exit` to its own instance. The end of the instance ends the user's
// connection, too, because the end of that stream means that the user leaves (hub/attach).
bool child_mux_is_exit(const struct parcel *parcel);
// Returns the method of the parcel's message; MCP_OTHER: the mark has no method.
enum mcp_method child_mux_method(const struct parcel *parcel);

// --- Pools

// A member of a pool of MCP servers goes on serving the peers that it has served. The other processes don't know what
// these peers have told that process.

// Returns the member of a pool for this peer: the member that served the peer before, if that member is still there,
// else `chosen`. Returns `chosen` without memory, too.
struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen);
