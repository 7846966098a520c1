// On the way to a program that knows its users apart (router/features/mcp/mcp.c, per_client.c): what its shard has to know of
// a message without reading it.
#pragma once

#include "core/agents/agent.h"
#include "core/mcp/mcp_message.h"
#include "router/engine/message/message.h"
#include "router/engine/shard/peer.h"

// Whether this agent is one; the first, of one that has a child.
bool child_mux_find(const struct agent *agent);
static inline bool child_mux_is(const struct agent *agent) {
    return agent->child && child_mux_find(agent);
}
// Writes on a parcel with this message, for such an agent, who sent it and what it is.
void child_mux_note(struct shard *shard, const struct message *message, const struct agent *agent,
                    struct parcel *parcel);
// Refuses a message that would have such a program tell its source something later, where the source is at another hub. The
// hub knows such a source by the link alone, and only answers and progress go back by the link. True: the message was refused.
bool child_mux_refuses(struct shard *shard, const struct message *message, const struct agent *agent);
// Refuses a call of a tool that the section of a server of MCP doesn't name: it isn't there. True when it was refused.
bool child_mux_lacks_tool(struct shard *shard, const struct message *message, const struct agent *agent);
// Whether who sent it gets nothing but answers, and so is told and asked nothing by the program: whoever is at another
// hub, too.
bool child_mux_answers_only(const struct parcel *parcel);
// Whether it is of the modern era, and then whether its source asks for what is logged meanwhile.
bool child_mux_is_modern(const struct parcel *parcel);
bool child_mux_wants_log(const struct parcel *parcel);
// Returns whether the parcel is the exit of a user of an instance of its own. For such a user the end of the
// instance is the end of the connection: its stream's end is its leaving (hub/attach).
bool child_mux_is_exit(const struct parcel *parcel);
// The parcel's method there; MCP_OTHER for what isn't noted.
enum mcp_method child_mux_method(const struct parcel *parcel);

// --- Pools

// The member of a pool that has once served a peer goes on serving it, where the programs know their users. A process
// of an MCP server alone knows what its clients have told it.

// Returns the member of the pool for this peer: the one that served the peer before, as long as that one is there, else
// the chosen one. Without memory it is the chosen one, too.
struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen);
