// The member of a pool that has once served a peer goes on serving it, where the programs know their users. A process
// of an MCP server alone knows what its clients have told it.
#pragma once

#include "core/agents/agent.h"
#include "router/engine/shard/peer.h"

// Returns the member of the pool for this peer: the one that served the peer before, as long as that one is there, else
// the chosen one. Without memory it is the chosen one, too.
struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen);
