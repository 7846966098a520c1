// The member of a pool that has once served a peer serves it on, where the programs know their users: what a
// client has told a server of MCP is known to that process alone.
#pragma once

#include "core/agents/agent.h"
#include "router/engine/shard/peer.h"

// Returns the member of the pool that has been chosen from that this peer is to have: the one that served it
// before, as long as that one is to be found, else the chosen one. Without memory it is the chosen one, too.
struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen);
