// Who of a pool has once served a peer serves it on, where the programs know their users: what a server of MCP was told
// by a client is known to that process alone.
#pragma once

#include "core/agents/agent.h"
#include "router/engine/shard/peer.h"

// Whom of the pool that has been chosen from this peer is to have: who served it before, as long as that one is to be
// found, else the one that was chosen. Without memory it is that, too.
struct agent *pool_affinity_agent(struct shard *shard, struct peer *peer, struct agent *chosen);
